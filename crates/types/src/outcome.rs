//! What operations answer. Records stay in their stored encoding, so that an answer splices them.

use crate::Revision;
use bytes::Bytes;

/// A record inside an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// The encoded `mvccpb.KeyValue`.
    Resident(Bytes),
    /// Not in memory: to be read from the backend at this revision.
    Cold {
        /// Where the record lies.
        revision: Revision,
        /// Length of the encoded `mvccpb.KeyValue`.
        len: u32,
    },
}

impl Item {
    /// Length of the encoded `mvccpb.KeyValue`.
    pub fn encoded_len(&self) -> usize {
        match self {
            Item::Resident(kv) => kv.len(),
            Item::Cold { len, .. } => *len as usize,
        }
    }
}

/// Answer of a range.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RangeOutcome {
    /// The records, in the order asked for.
    pub items: Vec<Item>,
    /// True if the limit cut something off.
    pub more: bool,
    /// Keys in the interval at the revision read, ignoring limit and filters.
    pub count: i64,
    /// Revision for the header: the newest one (top level), or the one visible inside a txn.
    pub revision: i64,
}

/// Answer of a put.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PutOutcome {
    /// Revision of the change.
    pub revision: i64,
    /// The record before, if asked for and there was one.
    pub prev: Option<Item>,
}

/// Answer of a delete.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct DeleteOutcome {
    /// Revision of the change, or the current one if nothing matched.
    pub revision: i64,
    /// Keys deleted.
    pub deleted: i64,
    /// The records before, in key order, if asked for.
    pub prev: Vec<Item>,
}

/// Answer of a transaction.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct TxnOutcome {
    /// Revision after the transaction.
    pub revision: i64,
    /// Which branch ran.
    pub succeeded: bool,
    /// One per operation of that branch.
    pub outcomes: Vec<OpOutcome>,
}

/// Answer of one operation inside a transaction.
#[derive(Clone, PartialEq, Debug)]
pub enum OpOutcome {
    /// Of a range.
    Range(RangeOutcome),
    /// Of a put.
    Put(PutOutcome),
    /// Of a delete.
    Delete(DeleteOutcome),
    /// Of a nested transaction; its header stays empty on the wire.
    Txn(TxnOutcome),
}
