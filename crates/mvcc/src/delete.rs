//! Deletes: many keys at a time, so that a lease or a prefix of half a million keys costs little
//! for each.
//!
//! Tombstones share buffers, keys in order are found beside one another, and each leaf of the
//! index is told once how many of its keys died.

use crate::index::Pos;
use crate::keyspace::{Keyspace, Meta, Stored};
use crate::kv;
use crate::slab::Version;
use crate::write::{WriteTxn, length};
use bytes::Bytes;
use types::outcome::Item;
use types::{KeyRange, LeaseId};

/// Tombstones that share one buffer: it stays in memory as long as one of them does.
const TOMBSTONES_PER_BUFFER: usize = 32;

/// Whether the records of deleted versions are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prev {
    /// They are given as far as they are in memory.
    Wanted,
    /// All are given as cold.
    Unread,
}

/// What a delete did.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Deleted {
    /// Keys that are gone.
    pub count: usize,
    /// The versions that it ended, in order; empty if they are not wanted.
    pub prev: Vec<Stored>,
    /// False if more of the interval is left.
    pub done: bool,
}

impl WriteTxn<'_> {
    /// Deletes the keys of an interval in key order.
    pub fn delete_range(&mut self, range: &KeyRange, prev: Prev) -> Deleted {
        self.delete_slice(range, usize::MAX, prev)
    }

    /// As [`WriteTxn::delete_range`], `max` keys at most.
    pub fn delete_slice(&mut self, range: &KeyRange, max: usize, prev: Prev) -> Deleted {
        let keyspace = &mut *self.keyspace;
        let mut hits = Vec::new();
        keyspace.walk(range, i64::MAX, max, |visit| hits.push(visit.pos));
        let done = hits.len() < max;
        let prev = keyspace.bury(&hits, prev);
        let done = done || keyspace.count_at(range, i64::MAX) == 0;
        Deleted { count: hits.len(), prev, done }
    }

    /// Deletes those of some distinct keys that exist, in the order given. Ascending keys are
    /// found fastest.
    pub fn delete_keys<'k>(
        &mut self,
        keys: impl IntoIterator<Item = &'k Bytes>,
        prev: Prev,
    ) -> Deleted {
        let keyspace = &mut *self.keyspace;
        let (mut hits, mut last) = (Vec::new(), None);
        for key in keys {
            let Some(pos) = keyspace.tree.find_after(last, key) else { continue };
            last = Some(pos);
            if keyspace.entry_at(pos).is_live() {
                hits.push(pos);
            }
        }
        let prev = keyspace.bury(&hits, prev);
        Deleted { count: hits.len(), prev, done: true }
    }
}

impl Keyspace {
    /// So many changes are about to come: what holds one for each grows once.
    pub fn expect_changes(&mut self, count: usize) {
        self.recent.reserve(count);
    }

    /// Deletes live keys, given by distinct places.
    fn bury(&mut self, hits: &[Pos], prev: Prev) -> Vec<Stored> {
        let mut before = Vec::new();
        if hits.is_empty() {
            return before;
        }
        self.pending.reserve(hits.len());
        self.quota.advance(self.revision + 1);
        for batch in hits.chunks(TOMBSTONES_PER_BUFFER) {
            let tombstones = self.tombstones(batch);
            let mut start = 0;
            for (pos, (end, key_len)) in batch.iter().zip(tombstones.ends) {
                let record = tombstones.buffer.slice(start..end);
                start = end;
                self.bury_one(self.tree.slot(*pos), key_len, record, prev, &mut before);
            }
        }
        for leaf in hits.chunk_by(|a, b| a.shares_leaf(*b)) {
            self.tree.set_dead(leaf[0], leaf.len());
        }
        before
    }

    fn bury_one(
        &mut self,
        slot: u32,
        key_len: usize,
        record: Bytes,
        prev: Prev,
        before: &mut Vec<Stored>,
    ) {
        let (main, sub, len) = (self.revision + 1, self.next_sub(), length(&record));
        let version = Version { main, sub, len, ..Version::default() };
        let entry = self.slab.get(slot);
        let newest = entry.newest;
        // Within one revision, what watchers get is the version before the transaction.
        let told = if newest.main == main { entry.visible_at(self.revision) } else { Some(newest) };
        let told = told.map(|version| match prev {
            Prev::Wanted => self.stored(entry, &version),
            Prev::Unread => unread(&version),
        });
        if prev == Prev::Wanted {
            let ended = if newest.main == main { None } else { told.clone() };
            before.push(ended.unwrap_or_else(|| self.stored(entry, &newest)));
        }
        self.admit(key_len, &version, &record, true);
        self.supersede(slot, key_len, version, record.clone());
        self.note(&version, record, told, LeaseId(newest.lease));
    }

    /// The tombstones of some keys.
    fn tombstones(&self, hits: &[Pos]) -> Tombstones {
        let lens = hits.iter().map(|pos| {
            let (prefix, suffix) = self.tree.key(*pos);
            kv::tombstone_len(prefix.len() + suffix.len())
        });
        let mut buffer = Vec::with_capacity(lens.sum());
        let mut ends = Vec::with_capacity(hits.len());
        for pos in hits {
            let (prefix, suffix) = self.tree.key(*pos);
            kv::encode_tombstone_into(&mut buffer, [prefix, suffix]);
            ends.push((buffer.len(), prefix.len() + suffix.len()));
        }
        Tombstones { buffer: buffer.into(), ends }
    }
}

struct Tombstones {
    buffer: Bytes,
    /// Of each where it ends, and the length of its key.
    ends: Vec<(usize, usize)>,
}

fn unread(version: &Version) -> Stored {
    let item = Item::Cold { revision: version.revision(), len: version.len };
    Stored { meta: Meta::of(version), item }
}
