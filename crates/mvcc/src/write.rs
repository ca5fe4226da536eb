//! Write transactions: one main revision, changes numbered from 0.

use crate::index::Pos;
use crate::keyspace::{Keyspace, Meta, Stored, numbers, version_bytes};
use crate::kv;
use crate::recent::Recent;
use crate::slab::{Entry, Version};
use bytes::Bytes;
use types::outcome::RangeOutcome;
use types::{LeaseId, OpError, RangeOp, Record};

/// Entries looked at for eviction per commit: a few more than it brings in.
const EVICTION_STEPS_PER_COMMIT: usize = 64;

/// One change of a transaction, as watchers and the backend want it.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The new version.
    pub record: Record,
    /// The key's version before the transaction; `None` if the key did not exist then.
    pub prev: Option<Stored>,
    /// Lease of the new version; 0 if none.
    pub lease: LeaseId,
    /// Lease of the version that this one follows, be it of the same transaction; 0 if none.
    pub was: LeaseId,
}

impl Change {
    /// The key.
    pub fn key(&self) -> &[u8] {
        kv::key(&self.record.kv)
    }
}

/// What a transaction did.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Changes {
    /// The main revision after it: one more than before if there are changes.
    pub revision: i64,
    /// Those that [`WriteTxn::take_changes`] did not take before, in order of their revisions.
    pub changes: Vec<Change>,
}

/// An open write transaction. Reads of the keyspace see none of it before `commit`; there is no
/// way back from a change, so everything is checked before the first one.
#[derive(Debug)]
pub struct WriteTxn<'a> {
    pub(crate) keyspace: &'a mut Keyspace,
}

impl Keyspace {
    /// Begins a write transaction.
    pub fn begin(&mut self) -> WriteTxn<'_> {
        assert!(self.changed == 0, "one write transaction at a time");
        WriteTxn { keyspace: self }
    }

    /// Goes on with the transaction that was suspended.
    pub fn resume(&mut self) -> WriteTxn<'_> {
        WriteTxn { keyspace: self }
    }
}

impl WriteTxn<'_> {
    /// The main revision before the transaction.
    pub fn begin_revision(&self) -> i64 {
        self.keyspace.revision
    }

    /// The main revision that the transaction's own reads see: one more once it changed
    /// something.
    pub fn revision(&self) -> i64 {
        self.keyspace.newest()
    }

    /// Changes so far.
    pub fn change_count(&self) -> usize {
        self.keyspace.changed as usize
    }

    /// The key's newest version, this transaction's changes included.
    pub fn get(&self, key: &[u8]) -> Option<Stored> {
        self.keyspace.visible(key, self.revision())
    }

    /// Reads an interval; without an explicit revision this transaction's changes are seen.
    pub fn range(&self, op: &RangeOp) -> Result<RangeOutcome, OpError> {
        self.keyspace.range_from(op, self.revision())
    }

    /// Writes a key and gives the version before.
    pub fn put(&mut self, key: &[u8], value: &[u8], lease: LeaseId) -> Option<Stored> {
        let keyspace = &mut *self.keyspace;
        let place = keyspace.tree.locate(key);
        let prev = place.ok().and_then(|pos| {
            let entry = keyspace.entry_at(pos);
            entry.is_live().then(|| keyspace.stored(entry, &entry.newest))
        });
        let main = keyspace.revision + 1;
        let (create, number) =
            prev.as_ref().map_or((main, 1), |prev| (prev.meta.create, prev.meta.version + 1));
        let mut version = Version { main, create, version: number, lease: lease.0, sub: 0, len: 0 };
        let record = kv::encode(key, &numbers(&version), value);
        version.len = length(&record);
        keyspace.change(key, place, version, record, prev.clone());
        prev
    }

    /// Leaves the transaction open: the keyspace goes on serving the revision before it, and
    /// [`Keyspace::resume`] comes back to it.
    pub fn suspend(self) {}

    /// The changes since the last call, in order of their revisions. What takes them slice by
    /// slice never holds all changes of a large transaction.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.keyspace.pending)
    }

    /// Ends the transaction: its changes are visible from here on.
    pub fn commit(self) -> Changes {
        let keyspace = self.keyspace;
        keyspace.revision = keyspace.newest();
        let changes = std::mem::take(&mut keyspace.pending);
        if std::mem::take(&mut keyspace.changed) != 0 {
            keyspace.recent.fit(keyspace.resident.bytes());
            keyspace.recent.trim(keyspace.resident.flushed);
            keyspace.evict(EVICTION_STEPS_PER_COMMIT);
        }
        Changes { revision: keyspace.revision, changes }
    }
}

impl Keyspace {
    /// Makes a new version the newest of its key, located at `place`. `prev` is the live
    /// version that it follows.
    fn change(
        &mut self,
        key: &[u8],
        place: Result<Pos, Pos>,
        mut version: Version,
        record: Bytes,
        prev: Option<Stored>,
    ) {
        version.sub = self.next_sub();
        // Within one revision, what watchers get is the version before the transaction.
        let was = prev.as_ref().map_or(LeaseId(0), |prev| prev.meta.lease);
        let is_own = prev.as_ref().is_some_and(|prev| prev.meta.modified.main == version.main);
        let at_begin = place.ok().filter(|_| is_own || prev.is_none()).and_then(|pos| {
            let entry = self.entry_at(pos);
            entry.visible_at(self.revision).map(|before| self.stored(entry, &before))
        });
        let before = if is_own || prev.is_none() { at_begin } else { prev };
        self.advance(key, place, version, record.clone());
        self.note(&version, record, before, was);
    }

    /// The number of the next change of the open transaction.
    pub(crate) fn next_sub(&mut self) -> u32 {
        let sub = self.changed;
        self.changed = sub.checked_add(1).expect("a txn's changes fit in memory");
        sub
    }

    pub(crate) fn note(
        &mut self,
        version: &Version,
        kv: Bytes,
        prev: Option<Stored>,
        was: LeaseId,
    ) {
        let (revision, tombstone) = (version.revision(), version.is_tombstone());
        let record = Record { revision, tombstone, kv };
        self.pending.push(Change { record, prev, lease: LeaseId(version.lease), was });
    }

    /// The bookkeeping of a new version, shared by transactions and restore.
    pub(crate) fn advance(
        &mut self,
        key: &[u8],
        place: Result<Pos, Pos>,
        version: Version,
        record: Bytes,
    ) {
        self.quota.advance(version.main);
        let was_live = place.is_ok_and(|pos| self.entry_at(pos).is_live());
        self.admit(key.len(), &version, &record, was_live);
        let pos = match place {
            Ok(pos) => pos,
            Err(place) => return self.insert(place, key, version, record),
        };
        let is_live = !version.is_tombstone();
        self.supersede(self.tree.slot(pos), key.len(), version, record);
        if was_live != is_live {
            self.tree.set_live(pos, is_live);
        }
    }

    /// A record came to be.
    pub(crate) fn admit(
        &mut self,
        key_len: usize,
        version: &Version,
        record: &Bytes,
        was_live: bool,
    ) {
        let is_tombstone = version.is_tombstone();
        self.quota.add(version_bytes(key_len, version), is_tombstone);
        self.resident.admit(record);
        self.recent.push(Recent {
            main: version.main,
            sub: version.sub,
            tombstone: is_tombstone,
            delta: i8::from(!is_tombstone) - i8::from(was_live),
            kv: record.clone(),
        });
    }

    /// Makes a version the newest of a slot that has one. What the index counts is the caller's.
    pub(crate) fn supersede(&mut self, slot: u32, key_len: usize, version: Version, record: Bytes) {
        self.resident.queue(slot);
        let entry = self.slab.get_mut(slot);
        let before = entry.newest;
        entry.push(version);
        if let Some(old) = entry.record.replace(record) {
            self.resident.release(&old);
        }
        let bytes = version_bytes(key_len, &before);
        if !before.is_tombstone() {
            self.quota.supersede(bytes);
        } else if before.main == version.main {
            self.quota.supersede_tombstone(bytes);
        }
        self.scrub.push(version.main, slot);
    }
}

impl Keyspace {
    /// Adds a key that is not in the index.
    fn insert(&mut self, place: Pos, key: &[u8], version: Version, record: Bytes) {
        let slot = self.slab.insert(Entry::new(version, record));
        self.resident.queue(slot);
        self.tree.insert(place, key, slot, |slot| self.slab.get(slot).is_live());
        if version.is_tombstone() {
            // Only a restored history begins with one.
            let pos = self.tree.find(key).expect("the key was just inserted");
            self.tree.set_live(pos, false);
            self.scrub.push(version.main, slot);
        }
    }
}

pub(crate) fn length(record: &Bytes) -> u32 {
    u32::try_from(record.len()).expect("a record is no longer than a log entry")
}

impl Meta {
    /// True if the version is the first of its key.
    pub fn is_create(&self) -> bool {
        self.version == 1
    }
}
