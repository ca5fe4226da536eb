//! What is not in the backend yet, and how it gets there.

use crate::chain;
use crate::store::Store;
use crate::table::tables;
use backend::{Delta, FlushJob, Meta, TableId};
use bytes::Bytes;
use std::collections::BTreeMap;
use types::{Record, Revision};

/// How much waits to be flushed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pending {
    /// Entries applied.
    pub entries: u64,
    /// Records.
    pub records: usize,
    /// Bytes of the records.
    pub bytes: usize,
    /// Records to be removed.
    pub removals: usize,
}

/// What the next flush job will carry.
#[derive(Default, Debug)]
pub(crate) struct Unflushed {
    pub(crate) entries: u64,
    records: Vec<Record>,
    bytes: usize,
    /// The newest value of each row.
    deltas: BTreeMap<(TableId, Bytes), Option<Bytes>>,
    pub(crate) removals: Vec<Revision>,
}

impl Unflushed {
    /// Makes room, once, for so many records more.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.records.len() < count {
            self.records.reserve_exact(count);
        }
    }

    pub(crate) fn push(&mut self, records: impl Iterator<Item = Record>) {
        for record in records {
            self.bytes += record.kv.len();
            self.records.push(record);
        }
    }

    pub(crate) fn put(&mut self, table: TableId, key: &[u8], value: Bytes) {
        self.deltas.insert((table, Bytes::copy_from_slice(key)), Some(value));
    }

    pub(crate) fn remove(&mut self, table: TableId, key: &[u8]) {
        self.deltas.insert((table, Bytes::copy_from_slice(key)), None);
    }
}

impl Store {
    /// How much waits to be flushed.
    pub fn pending(&self) -> Pending {
        Pending {
            entries: self.unflushed.entries,
            records: self.unflushed.records.len(),
            bytes: self.unflushed.bytes,
            removals: self.unflushed.removals.len(),
        }
    }

    /// Everything since the last flush job, as one atomic step: records, tables and the applied
    /// index move together. `conf_state` is raft's, at the applied index.
    pub fn take_flush(&mut self, conf_state: Bytes) -> FlushJob {
        assert!(!self.is_suspended(), "nothing is flushed within an entry");
        for (key, value) in self.window.take_changed() {
            self.unflushed.put(tables::WINDOW, &key, value);
        }
        self.unflushed.put(tables::CHAIN, chain::KEY, chain::encode(self.chain));
        let unflushed = std::mem::take(&mut self.unflushed);
        let delta = |((table, key), value)| Delta { table, key, value };
        FlushJob {
            meta: Meta {
                applied: self.applied,
                term: self.term,
                revision: self.revision(),
                compacted: self.compacted(),
                live_bytes: self.keyspace.live_bytes(),
                conf_state,
            },
            records: unflushed.records,
            deltas: unflushed.deltas.into_iter().map(delta).collect(),
            removals: unflushed.removals,
        }
    }

    /// A flush job is durable: its records may leave memory.
    pub fn flushed(&mut self, reader: backend::Reader) {
        self.reader = reader;
        self.is_flushed = true;
        self.cool();
    }

    /// The backend was rewritten: cold records are read with this from here on.
    pub fn set_reader(&mut self, reader: backend::Reader) {
        self.reader = reader;
    }
}
