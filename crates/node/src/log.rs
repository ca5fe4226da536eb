//! The raft log as raft reads it: entries in memory, in order, after what was released.

use raft::eraftpb;
use raft::{GetEntriesContext, RaftState, StorageError};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use types::{Index, Term};
use wal::{Entry, EntryKind};

/// An entry's name.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct EntryId {
    pub(crate) index: Index,
    pub(crate) term: Term,
}

/// Entries that raft may ask for.
///
/// Invariants:
/// - `entries[i].index == before.index + 1 + i`;
/// - everything that is not applied yet is here (raft reads committed entries synchronously).
#[derive(Debug)]
pub(crate) struct Log {
    /// The entry before the first one.
    before: EntryId,
    entries: VecDeque<eraftpb::Entry>,
    /// Bytes of data in `entries`.
    bytes: usize,
    /// What raft starts from.
    initial: RaftState,
    /// Members for which raft asked for a snapshot, since that was last looked at.
    wanted_snapshots: RefCell<BTreeSet<u64>>,
}

impl Log {
    pub(crate) fn new(before: EntryId, entries: &[Entry], initial: RaftState) -> Log {
        let mut log = Log {
            before,
            entries: VecDeque::new(),
            bytes: 0,
            initial,
            wanted_snapshots: RefCell::default(),
        };
        for entry in entries {
            log.push(to_raft(entry));
        }
        log
    }

    pub(crate) fn last(&self) -> EntryId {
        self.entries.back().map_or(self.before, |entry| EntryId {
            index: Index(entry.index),
            term: Term(entry.term),
        })
    }

    /// Appends; an entry at an index that is taken replaces it and all after it.
    pub(crate) fn append(&mut self, entries: &[eraftpb::Entry]) {
        let Some(first) = entries.first() else { return };
        assert!(self.before.index.0 < first.index, "entry {} is before the log", first.index);
        while self.entries.back().is_some_and(|last| first.index <= last.index) {
            if let Some(gone) = self.entries.pop_back() {
                self.bytes -= gone.data.len();
            }
        }
        for entry in entries {
            self.push(entry.clone());
        }
    }

    fn push(&mut self, entry: eraftpb::Entry) {
        let last = self.last().index;
        assert_eq!(entry.index, last.0 + 1, "entry {} follows {last}", entry.index);
        self.bytes += entry.data.len();
        self.entries.push_back(entry);
    }

    /// Drops entries up to `upto` while more than `bytes_max` are held.
    pub(crate) fn release(&mut self, upto: Index, bytes_max: usize) {
        while let Some(first) = self.entries.front()
            && first.index <= upto.0
            && (bytes_max == 0 || bytes_max < self.bytes)
        {
            self.before = EntryId { index: Index(first.index), term: Term(first.term) };
            self.bytes -= first.data.len();
            self.entries.pop_front();
        }
    }

    /// Members for which entries are gone that they need.
    pub(crate) fn take_wanted_snapshots(&mut self) -> BTreeSet<u64> {
        self.wanted_snapshots.take()
    }

    fn term_of(&self, index: Index) -> Option<Term> {
        if index == self.before.index {
            return Some(self.before.term);
        }
        self.get(index.0).map(|entry| Term(entry.term))
    }

    fn get(&self, index: u64) -> Option<&eraftpb::Entry> {
        let at = index.checked_sub(self.before.index.0 + 1)?;
        self.entries.get(usize::try_from(at).ok()?)
    }
}

impl raft::Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(self.initial.clone())
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<eraftpb::Entry>> {
        if low <= self.before.index.0 {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        let limit = max_size.into().unwrap_or(u64::MAX);
        let mut bytes = 0u64;
        let mut found = Vec::new();
        for index in low..high {
            let Some(entry) = self.get(index) else {
                return Err(raft::Error::Store(StorageError::Unavailable));
            };
            bytes = bytes.saturating_add(entry.data.len() as u64 + ENTRY_OVERHEAD_BYTES);
            if limit < bytes && !found.is_empty() {
                break;
            }
            found.push(entry.clone());
        }
        Ok(found)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        match self.term_of(Index(index)) {
            Some(term) => Ok(term.0),
            None if index < self.before.index.0 => Err(raft::Error::Store(StorageError::Compacted)),
            None => Err(raft::Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.before.index.0 + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().index.0)
    }

    fn snapshot(&self, _request_index: u64, to: u64) -> raft::Result<eraftpb::Snapshot> {
        // Snapshots to other members come from the backend, not from raft.
        self.wanted_snapshots.borrow_mut().insert(to);
        Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}

/// What an entry counts beside its data when messages are filled.
const ENTRY_OVERHEAD_BYTES: u64 = 24;

fn to_raft(entry: &Entry) -> eraftpb::Entry {
    let entry_type = match entry.kind {
        EntryKind::Normal => eraftpb::EntryType::EntryNormal,
        EntryKind::ConfChange => eraftpb::EntryType::EntryConfChange,
    };
    eraftpb::Entry {
        index: entry.index.0,
        term: entry.term.0,
        data: entry.data.clone(),
        entry_type,
        ..eraftpb::Entry::default()
    }
}

pub(crate) fn from_raft(entry: &eraftpb::Entry) -> Entry {
    Entry {
        index: Index(entry.index),
        term: Term(entry.term),
        kind: match entry.entry_type {
            eraftpb::EntryType::EntryNormal => EntryKind::Normal,
            eraftpb::EntryType::EntryConfChange | eraftpb::EntryType::EntryConfChangeV2 => {
                EntryKind::ConfChange
            }
        },
        data: entry.data.clone(),
    }
}
