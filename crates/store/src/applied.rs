//! What the application of one log entry came to: the seam between `store` and `member`.
//!
//! `member` uses the store through these calls (see `Store`):
//!
//! ```text
//! open(config, &backend::Recovered) -> Result<Store, backend::Error>
//! needs(&Bytes) -> Vec<Revision>            cold records that the entry would read
//! warm(Vec<Record>)                         ... brought; kept until the next apply
//! apply(Index, Term, &Bytes) -> Applied     an empty entry (raft's own) only moves the index
//! range(&RangeOp), read_txn(&TxnOp), reader(), revision(), compacted(), applied()
//! leases() -> &lease::Table, hub() / hub_mut(), history(Span) (recent ring, or ask the backend)
//! compact_step(max) -> bool                 false once a compaction's index work is done
//! unflushed_bytes(), take_flush() -> Option<FlushJob>, flushed(Reader), evict()
//! alarms(), members(), cluster_version(), live_bytes(), quota
//! ```

use crate::alarm::AlarmKind;
use types::outcome::{DeleteOutcome, PutOutcome, TxnOutcome};
use types::{LeaseId, MemberId, OpError};

/// What an entry came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// Id of the proposal, 0 if nobody waits for it.
    pub proposal: u64,
    /// The answer, equal on every member.
    pub result: Result<Answer, OpError>,
    /// Revision for the header of the answer.
    pub revision: i64,
    /// True if the entry pushed the keyspace over this member's quota: it was applied, but the
    /// member that proposed it answers with the space error and raises the alarm.
    pub over_quota: bool,
    /// What the leader's clocks have to know.
    pub lease: Option<LeaseFact>,
}

/// The answer of an entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// Raft's own entry, or one that another term voided.
    Nothing,
    /// Of a put.
    Put(PutOutcome),
    /// Of a delete.
    Delete(DeleteOutcome),
    /// Of a transaction.
    Txn(TxnOutcome),
    /// Of a compaction at this revision.
    Compact(i64),
    /// Of a grant.
    LeaseGrant {
        /// The id.
        id: LeaseId,
        /// The TTL granted, seconds.
        ttl: i64,
    },
    /// Of a revoke.
    LeaseRevoke,
    /// Of checkpoints.
    LeaseCheckpoint,
    /// Of an alarm request.
    Alarm(Vec<(MemberId, AlarmKind)>),
    /// The cluster version was set.
    ClusterVersionSet,
    /// A member published itself.
    MemberAttrSet(MemberId),
}

/// A change of a lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeaseFact {
    /// Granted, with its TTL in seconds.
    Granted(LeaseId, i64),
    /// Revoked.
    Revoked(LeaseId),
    /// What is left of leases was recorded; 0 clears.
    Checkpointed(Vec<(LeaseId, i64)>),
}
