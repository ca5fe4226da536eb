//! What applying an entry comes to.

use crate::AlarmKind;
use types::outcome::{DeleteOutcome, PutOutcome, TxnOutcome};
use types::{LeaseId, MemberId, OpError};

/// What applying an entry came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// Id of the proposal; 0 if nobody waits for it.
    pub id: u64,
    /// The outcome, equal on every member.
    pub result: Result<Outcome, OpError>,
    /// What the leader's deadlines must know.
    pub facts: Vec<LeaseFact>,
    /// By this member's limit there was no room for it, though it was applied: the proposer
    /// answers with the no-space error, and an alarm is raised.
    pub over_quota: bool,
    /// Revision of the keyspace afterwards, for headers that carry no other.
    pub revision: i64,
}

/// A deterministic outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Nothing was asked.
    Noop,
    /// The same proposal was applied before, or so long ago that it is not remembered: nothing
    /// was done, and nothing is known of the first time.
    Duplicate,
    /// The entry holds in another term, or for an earlier lease of the id: nothing was done.
    Fenced,
    /// Of a put.
    Put(PutOutcome),
    /// Of a delete.
    Delete(DeleteOutcome),
    /// Of a transaction.
    Txn(TxnOutcome),
    /// Of a compaction at this revision; `Store::compact_step` does the rest.
    Compact(i64),
    /// Of a grant.
    LeaseGrant {
        /// The id.
        id: LeaseId,
        /// Seconds.
        ttl: i64,
    },
    /// Of a revoke.
    LeaseRevoke,
    /// Of checkpoints.
    Checkpoint,
    /// Of an alarm's change.
    Alarm(Vec<(MemberId, AlarmKind)>),
    /// Of a membership change: raft follows it.
    Conf(MemberId, ConfOutcome),
    /// Of a change of the members' table, the cluster version or the downgrade target.
    Cluster,
}

/// What a membership change came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfOutcome {
    /// The member has a vote.
    Voter,
    /// The member has none.
    Learner,
    /// The member is gone.
    Removed,
    /// The member is reached elsewhere.
    Updated,
}

/// A change of the leases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseFact {
    /// A lease begins.
    Granted {
        /// Which.
        id: LeaseId,
        /// Seconds.
        ttl: i64,
    },
    /// A lease is gone.
    Revoked(LeaseId),
    /// What is left of a lease is on record; 0 clears.
    Checkpointed {
        /// Which.
        id: LeaseId,
        /// Seconds.
        remaining: i64,
    },
}
