//! Operations on the keyspace, checked at the edge and carried inside.

use crate::{KeyRange, LeaseId};
use bytes::Bytes;

/// One operation of a transaction, or a request of its own.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Read an interval.
    Range(RangeOp),
    /// Write one key.
    Put(PutOp),
    /// Delete an interval.
    Delete(DeleteOp),
    /// A nested transaction.
    Txn(TxnOp),
}

/// Order of a range's answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SortOrder {
    /// As the index gives them: by key.
    #[default]
    None,
    /// Ascending by the target.
    Ascend,
    /// Descending by the target.
    Descend,
    /// A number outside the enum; refused at the edge.
    Unknown,
}

impl SortOrder {
    /// The orders that a request may name, by their numbers.
    pub const ALL: [SortOrder; 3] = [SortOrder::None, SortOrder::Ascend, SortOrder::Descend];
}

/// What a range's answer is ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SortTarget {
    /// The key's bytes.
    #[default]
    Key,
    /// The key's version.
    Version,
    /// The revision of its creation.
    Create,
    /// The revision of its last change.
    Mod,
    /// The value's bytes.
    Value,
    /// A number outside the enum; refused at the edge.
    Unknown,
}

impl SortTarget {
    /// The targets that a request may name, by their numbers.
    pub const ALL: [SortTarget; 5] = [
        SortTarget::Key,
        SortTarget::Version,
        SortTarget::Create,
        SortTarget::Mod,
        SortTarget::Value,
    ];
}

/// Read an interval (contract: Range).
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RangeOp {
    /// The keys to read.
    pub range: KeyRange,
    /// Most keys in the answer; 0 or less means no bound.
    pub limit: i64,
    /// Main revision to read at; 0 or less means the newest.
    pub revision: i64,
    /// Order of the answer.
    pub sort_order: SortOrder,
    /// What the order is by.
    pub sort_target: SortTarget,
    /// True if the local state will do.
    pub serializable: bool,
    /// Leave values out.
    pub keys_only: bool,
    /// Only count.
    pub count_only: bool,
    /// Keep records with a mod revision of at least this; 0 is off.
    pub min_mod_revision: i64,
    /// Keep records with a mod revision of at most this; 0 is off.
    pub max_mod_revision: i64,
    /// Keep records with a create revision of at least this; 0 is off.
    pub min_create_revision: i64,
    /// Keep records with a create revision of at most this; 0 is off.
    pub max_create_revision: i64,
}

/// Write one key.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PutOp {
    /// The key; never empty once checked.
    pub key: Bytes,
    /// The new value.
    pub value: Bytes,
    /// The lease to attach; 0 detaches.
    pub lease: LeaseId,
    /// Answer with the record before.
    pub prev_kv: bool,
    /// Keep the stored value.
    pub ignore_value: bool,
    /// Keep the stored lease.
    pub ignore_lease: bool,
}

/// Delete an interval.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct DeleteOp {
    /// The keys to delete.
    pub range: KeyRange,
    /// Answer with the records before.
    pub prev_kv: bool,
}

/// How a compare relates the stored side to the given side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CompareResult {
    /// Stored equals given.
    #[default]
    Equal,
    /// Stored is greater.
    Greater,
    /// Stored is less.
    Less,
    /// Stored differs.
    NotEqual,
    /// A number outside the enum: etcd holds it for true.
    Unknown,
}

/// What a compare looks at, with the given side. An unset or mismatched union compares with
/// zero or with empty bytes.
#[derive(Clone, PartialEq, Debug)]
pub enum CompareTarget {
    /// The key's version.
    Version(i64),
    /// The revision of its creation.
    Create(i64),
    /// The revision of its last change.
    Mod(i64),
    /// Its value.
    Value(Bytes),
    /// Its lease.
    Lease(i64),
    /// A number outside the enum: etcd compares as if both sides were equal.
    Unknown,
}

/// One condition of a transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Compare {
    /// The keys that must all satisfy it.
    pub range: KeyRange,
    /// The relation.
    pub result: CompareResult,
    /// The stored side and the given side.
    pub target: CompareTarget,
}

/// A transaction: if all compares hold `success` runs, else `failure`.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct TxnOp {
    /// A conjunction; empty is true.
    pub compare: Vec<Compare>,
    /// Run if true.
    pub success: Vec<Op>,
    /// Run if false.
    pub failure: Vec<Op>,
}
