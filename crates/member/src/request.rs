//! What clients ask of a member and what it answers.

use bytes::Bytes;
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, RangeOutcome, TxnOutcome};
use types::{ClusterId, LeaseId, MemberId, RangeOp, Term, TxnOp};

/// Names a request between driver and member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// Names a watch stream between driver and member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub u64);

/// Pairs an effect with the event of its completion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// Writes that go into the log as the client encoded them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteKind {
    /// `PutRequest`.
    Put,
    /// `DeleteRangeRequest`.
    DeleteRange,
    /// `TxnRequest`.
    Txn,
}

/// What is asked. Shapes (empty keys, enum values, nesting, duplicate keys) were checked at the
/// edge, after the quota (`Member::over_quota`) as contract §2.3 orders it.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// Read an interval.
    Range(RangeOp),
    /// A transaction whose branches only hold ranges.
    ReadTxn(TxnOp),
    /// A write, with the request's bytes as received.
    Write {
        /// What the bytes are.
        kind: WriteKind,
        /// The encoded request.
        body: Bytes,
        /// Cost by contract §2.3 (0 for writes that cost nothing).
        quota_cost: i64,
    },
    /// Compact the keyspace.
    Compact {
        /// The revision.
        revision: i64,
        /// Answer only when the space is reclaimed.
        physical: bool,
    },
    /// Grant a lease.
    LeaseGrant {
        /// 0: the member picks one.
        id: LeaseId,
        /// Seconds.
        ttl: i64,
    },
    /// Revoke a lease.
    LeaseRevoke(LeaseId),
    /// Renew a lease.
    LeaseKeepAlive(LeaseId),
    /// Look at a lease.
    LeaseTimeToLive {
        /// Which.
        id: LeaseId,
        /// With its keys.
        keys: bool,
    },
    /// List leases.
    LeaseLeases,
    /// List, raise or clear alarms.
    Alarm {
        /// What to do.
        action: AlarmAction,
        /// Whose alarm.
        member: MemberId,
        /// Which alarm.
        kind: AlarmKind,
    },
    /// List members.
    MemberList {
        /// Confirm with a quorum first.
        linearizable: bool,
    },
    /// A member joins.
    MemberAdd {
        /// Where peers reach it; checked at the edge.
        peer_urls: Vec<String>,
        /// Without a vote.
        is_learner: bool,
        /// Seconds since 1970: part of the new id.
        seconds: u64,
    },
    /// A member leaves for good.
    MemberRemove(MemberId),
    /// A member is reached elsewhere.
    MemberUpdate {
        /// Which.
        id: MemberId,
        /// Where peers reach it from now on.
        peer_urls: Vec<String>,
    },
    /// A learner gets a vote.
    MemberPromote(MemberId),
    /// State of this member.
    Status,
    /// Hash of everything stored.
    Hash,
    /// Hash of the keyspace; 0 is the newest revision.
    HashKv(i64),
    /// Give space back now.
    Defragment,
    /// Hand over leadership.
    MoveLeader(MemberId),
    /// Answered once all that was committed before is applied here: health checks.
    Barrier,
}

/// What to do with alarms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlarmAction {
    /// List.
    Get,
    /// Raise.
    Activate,
    /// Clear.
    Deactivate,
}

/// Kinds of alarm, with etcd's numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AlarmKind {
    /// Any, in a list; nothing, when raised.
    None = 0,
    /// Over the quota.
    NoSpace = 1,
    /// Data differs between members or from its checksum.
    Corrupt = 2,
}

impl AlarmKind {
    /// etcd's number.
    pub fn number(self) -> i32 {
        match self {
            AlarmKind::None => 0,
            AlarmKind::NoSpace => 1,
            AlarmKind::Corrupt => 2,
        }
    }
}

impl From<store::AlarmKind> for AlarmKind {
    fn from(kind: store::AlarmKind) -> AlarmKind {
        match kind {
            store::AlarmKind::NoSpace => AlarmKind::NoSpace,
            store::AlarmKind::Corrupt => AlarmKind::Corrupt,
        }
    }
}

/// Header fields of an answer. `revision` is the store's current one unless the answer carries
/// its own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Header {
    /// The cluster.
    pub cluster: ClusterId,
    /// This member.
    pub member: MemberId,
    /// Revision of the keyspace.
    pub revision: i64,
    /// Raft term.
    pub term: Term,
}

/// A member as clients see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberInfo {
    /// Id.
    pub id: MemberId,
    /// Name; empty until it published itself.
    pub name: String,
    /// Where peers reach it.
    pub peer_urls: Vec<String>,
    /// Where clients reach it.
    pub client_urls: Vec<String>,
    /// True for a non-voting member.
    pub is_learner: bool,
}

/// State of this member.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StatusInfo {
    /// Bytes of the backend's files.
    pub db_size: i64,
    /// Bytes of what is not compacted.
    pub db_size_in_use: i64,
    /// The quota in force.
    pub db_size_quota: i64,
    /// The leader, 0 if unknown.
    pub leader: MemberId,
    /// Committed index.
    pub raft_index: u64,
    /// Applied index.
    pub applied_index: u64,
    /// Active alarms.
    pub alarms: Vec<(MemberId, u32)>,
    /// True for a non-voting member.
    pub is_learner: bool,
}

/// What is answered.
#[derive(Clone, PartialEq, Debug)]
pub enum Response {
    /// Of a range.
    Range(RangeOutcome),
    /// Of a put.
    Put(PutOutcome),
    /// Of a delete.
    Delete(DeleteOutcome),
    /// Of a transaction.
    Txn(TxnOutcome),
    /// Of a compaction.
    Compact,
    /// Of a grant.
    LeaseGrant {
        /// The id.
        id: LeaseId,
        /// The TTL granted, seconds.
        ttl: i64,
    },
    /// Of a revoke.
    LeaseRevoke,
    /// Of a renewal; TTL 0 if the lease is unknown.
    LeaseKeepAlive {
        /// The id.
        id: LeaseId,
        /// The TTL, seconds.
        ttl: i64,
    },
    /// Of a look at a lease; TTL -1 if it is unknown.
    LeaseTimeToLive {
        /// The id.
        id: LeaseId,
        /// Remaining seconds.
        ttl: i64,
        /// Granted seconds.
        granted_ttl: i64,
        /// Its keys, if asked for.
        keys: Vec<Bytes>,
    },
    /// The leases, by remaining time.
    LeaseLeases(Vec<LeaseId>),
    /// Alarms.
    Alarm(Vec<(MemberId, AlarmKind)>),
    /// Members, by id.
    Members(Vec<MemberInfo>),
    /// The member that joined, and all members by id.
    MemberAdded(MemberInfo, Vec<MemberInfo>),
    /// State.
    Status(StatusInfo),
    /// A hash of everything.
    Hash(u32),
    /// A hash of the keyspace.
    HashKv {
        /// CRC-32C.
        hash: u32,
        /// Compaction marker used; -1 if never compacted.
        compact_revision: i64,
        /// Revision hashed.
        hash_revision: i64,
    },
    /// Space was given back.
    Defragment,
    /// Leadership moved.
    MoveLeader,
    /// All that was committed before is applied.
    Barrier,
}

impl Response {
    /// True if records in it have to be read from the backend.
    pub fn has_cold(&self) -> bool {
        match self {
            Response::Range(range) => range.items.iter().any(is_cold),
            Response::Put(put) => put.prev.as_ref().is_some_and(is_cold),
            Response::Delete(delete) => delete.prev.iter().any(is_cold),
            Response::Txn(txn) => txn.outcomes.iter().any(outcome_is_cold),
            _ => false,
        }
    }
}

fn is_cold(item: &Item) -> bool {
    matches!(item, Item::Cold { .. })
}

fn outcome_is_cold(outcome: &OpOutcome) -> bool {
    match outcome {
        OpOutcome::Range(range) => range.items.iter().any(is_cold),
        OpOutcome::Put(put) => put.prev.as_ref().is_some_and(is_cold),
        OpOutcome::Delete(delete) => delete.prev.iter().any(is_cold),
        OpOutcome::Txn(txn) => txn.outcomes.iter().any(outcome_is_cold),
    }
}
