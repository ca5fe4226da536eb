//! The deterministic errors of operations: a closed set, equal on every member.
//!
//! The gRPC code and exact text of each lives in one table of the shell (`server/grpc/status`).

/// Why an operation was refused. Each stands for one error of etcd (contract §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpError {
    /// The key is empty.
    EmptyKey,
    /// ignore_value or ignore_lease on a key that does not exist, or an empty RequestOp.
    KeyNotFound,
    /// ignore_value with a value.
    ValueProvided,
    /// ignore_lease with a lease.
    LeaseProvided,
    /// More operations than `--max-txn-ops`.
    TooManyOps,
    /// Two changes of one key in one branch.
    DuplicateKey,
    /// A sort order or target outside the enum.
    InvalidSortOption,
    /// Revision below the compacted one.
    Compacted,
    /// Revision beyond the current one.
    FutureRevision,
    /// Over the quota, or the NOSPACE alarm is on.
    NoSpace,
    /// No such lease.
    LeaseNotFound,
    /// The lease id is in use.
    LeaseExists,
    /// TTL above the maximum.
    LeaseTtlTooLarge,
    /// The entry is larger than `--max-request-bytes`.
    RequestTooLarge,
    /// Too many committed entries wait to be applied.
    TooManyRequests,
    /// This member knows no leader.
    NoLeader,
    /// This member does not lead.
    NotLeader,
    /// Leadership moved while the request waited.
    LeaderChanged,
    /// The cluster version is not decided yet.
    NotCapable,
    /// The member is stopping.
    Stopped,
    /// Not answered in time.
    Timeout,
    /// As `Timeout`, around a change of leader.
    TimeoutLeaderFail,
    /// As `Timeout`, without a quorum.
    TimeoutConnectionLost,
    /// The wait for the applied index took too long.
    TimeoutWaitApplied,
    /// Another member was to lead, and did not in time.
    TimeoutLeaderTransfer,
    /// The CORRUPT alarm is on.
    Corrupt,
    /// No such member, or one that was removed.
    MemberNotFound,
    /// A member with this id is there already.
    MemberExists,
    /// A member with one of these peer URLs is there already.
    PeerUrlExists,
    /// Too few members have published themselves for this change.
    NotEnoughStarted,
    /// Too few members are connected for this change.
    Unhealthy,
    /// Promote of a member that has a vote.
    MemberNotLearner,
    /// Promote of a learner whose log is too far behind.
    LearnerNotReady,
    /// More learners than `--max-learners`.
    TooManyLearners,
    /// This member is a learner.
    NotSupportedForLearner,
    /// MoveLeader to an unknown member or a learner.
    BadLeaderTransferee,
    /// Leadership could not be confirmed for a lease operation.
    NotPrimaryLessor,
    /// The caller went away.
    Canceled,
    /// Not offered by this build yet.
    Unimplemented,
}
