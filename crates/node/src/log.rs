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
    /// The first entry that can be fetched from the disk, or 0 if all can; `None` if none can.
    floor: Option<Index>,
    /// Entries from the disk, while raft takes them.
    fetched: VecDeque<eraftpb::Entry>,
    /// What raft wants from the disk: the first index, and whom it asks for.
    wanted: RefCell<Vec<(u64, GetEntriesContext)>>,
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
            floor: None,
            fetched: VecDeque::new(),
            wanted: RefCell::default(),
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

    /// What is not in memory can be fetched from now on.
    pub(crate) fn can_fetch(&mut self) {
        let first = self.before.index;
        self.floor = Some(if first == Index(0) { first } else { first.next() });
    }

    /// The disk gave up the entries up to `upto`.
    pub(crate) fn trimmed(&mut self, upto: Index) {
        self.floor = self.floor.map(|floor| floor.max(upto.next()));
    }

    /// The first stretch of entries that raft wants from the disk, with the one before it.
    pub(crate) fn wanted(&self) -> Option<(Index, Index)> {
        let wanted = self.wanted.borrow();
        let (low, _) = wanted.first()?;
        Some((Index((low - 1).max(1)), self.before.index))
    }

    /// Entries came from the disk, or none if they are gone. Returns who asked for them.
    pub(crate) fn fetched(&mut self, entries: &[Entry]) -> Vec<GetEntriesContext> {
        let wanted = self.wanted.get_mut();
        if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
            let has = |low: u64| first.index.0 <= low && low <= last.index.0;
            let ready = wanted.extract_if(.., |(low, _)| has(*low)).map(|(_, context)| context);
            let ready: Vec<GetEntriesContext> = ready.collect();
            self.fetched = entries.iter().map(to_raft).collect();
            return ready;
        }
        let gone = wanted.iter().map(|(low, _)| *low).next().unwrap_or_default();
        self.trimmed(Index(gone));
        let ready = self.wanted.get_mut().extract_if(.., |(low, _)| *low == gone);
        ready.map(|(_, context)| context).collect()
    }

    /// Raft has taken what was fetched.
    pub(crate) fn forget_fetched(&mut self) {
        self.fetched.clear();
    }

    fn of_fetched(&self, index: u64) -> Option<&eraftpb::Entry> {
        let at = index.checked_sub(self.fetched.front()?.index)?;
        self.fetched.get(usize::try_from(at).ok()?)
    }

    /// An entry that is not in memory: from what was fetched, or later.
    fn fetch(&self, low: u64, context: GetEntriesContext) -> raft::Error {
        let is_gone = self.floor.is_none_or(|floor| low <= floor.0);
        if is_gone || !context.can_async() {
            return raft::Error::Store(StorageError::Compacted);
        }
        let mut wanted = self.wanted.borrow_mut();
        if wanted.len() < FETCHES_MAX && wanted.iter().all(|(known, _)| *known != low) {
            wanted.push((low, context));
        }
        raft::Error::Store(StorageError::LogTemporarilyUnavailable)
    }

    /// Members for which entries are gone that they need.
    pub(crate) fn take_wanted_snapshots(&mut self) -> BTreeSet<u64> {
        self.wanted_snapshots.take()
    }

    fn term_of(&self, index: Index) -> Option<Term> {
        if index == self.before.index {
            return Some(self.before.term);
        }
        let entry = self.get(index.0).or_else(|| self.of_fetched(index.0));
        entry.map(|entry| Term(entry.term))
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
        context: GetEntriesContext,
    ) -> raft::Result<Vec<eraftpb::Entry>> {
        let is_old = low <= self.before.index.0;
        if is_old && self.of_fetched(low).is_none() {
            return Err(self.fetch(low, context));
        }
        let limit = max_size.into().unwrap_or(u64::MAX);
        let mut bytes = 0u64;
        let mut found = Vec::new();
        for index in low..high {
            let entry = if is_old { self.of_fetched(index) } else { self.get(index) };
            let Some(entry) = entry else {
                if is_old {
                    break;
                }
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
        let first = self.floor.map_or(self.before.index, |floor| floor.min(self.before.index));
        Ok(first.0 + 1)
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

/// Stretches of old entries that raft may want at a time: one for each of the slowest members.
const FETCHES_MAX: usize = 8;
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
