//! What one atomic step carries.

use bytes::Bytes;
use std::collections::BTreeMap;
use types::{Index, Record, Revision, Term};

/// A small table. The numbers are the owner's (store) and part of the disk format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TableId(pub u8);

/// All small tables, by key.
pub type Tables = BTreeMap<TableId, BTreeMap<Bytes, Bytes>>;

/// One change of a small table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delta {
    /// Which table.
    pub table: TableId,
    /// Which key.
    pub key: Bytes,
    /// The new value; `None` removes the key.
    pub value: Option<Bytes>,
}

/// Facts about the state as a whole, moved with the records in the same step.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Meta {
    /// Index of the last log entry whose effect is included.
    pub applied: Index,
    /// Term of that entry.
    pub term: Term,
    /// The keyspace's revision. Invariant: at or above the main revision of every record.
    pub revision: i64,
    /// The compacted revision.
    pub compacted: i64,
    /// What the quota counts.
    pub live_bytes: i64,
    /// Raft's ConfState at `applied`, encoded by its owner.
    pub conf_state: Bytes,
}

/// One atomic step of the backend.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct FlushJob {
    /// The state after this step.
    pub meta: Meta,
    /// New records. Invariant: revisions ascend, and all lie above those flushed before.
    pub records: Vec<Record>,
    /// Changes of small tables, applied in order.
    pub deltas: Vec<Delta>,
    /// Revisions that compaction dropped, in any order. They become garbage, which a rewrite
    /// removes; they are not made durable (a start works them out again).
    pub removals: Vec<Revision>,
}

impl FlushJob {
    /// True if there is nothing that must become durable.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.deltas.is_empty() && self.removals.is_empty()
    }
}
