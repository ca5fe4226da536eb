//! What a log entry asks for, in the words of `types`.

use crate::conf;
use crate::log::Kind;
use crate::{etcdserverpb, membershippb, wire};
use bytes::Bytes;
use prost::Message;
use types::{DeleteOp, LeaseId, MemberId, PutOp, TxnOp};

/// What an entry asks for.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// Write one key.
    Put(PutOp),
    /// Delete an interval.
    Delete(DeleteOp),
    /// A transaction.
    Txn(TxnOp),
    /// Compact the keyspace.
    Compact {
        /// The revision.
        revision: i64,
        /// The caller waits for the space.
        physical: bool,
    },
    /// Grant a lease; the proposer chose the id and raised the TTL to the minimum.
    LeaseGrant {
        /// The id.
        id: LeaseId,
        /// Seconds.
        ttl: i64,
    },
    /// End a lease.
    LeaseRevoke(LeaseId),
    /// Raise, clear or list alarms, with etcd's numbers.
    Alarm {
        /// 0 lists, 1 raises, 2 clears.
        action: i32,
        /// Whose.
        member: MemberId,
        /// 0 none, 1 NOSPACE, 2 CORRUPT.
        kind: i32,
    },
    /// Record what is left of leases: (lease, seconds); 0 clears.
    Checkpoint(Vec<(LeaseId, i64)>),
    /// Set the cluster version.
    ClusterVersion(String),
    /// A member publishes itself.
    MemberAttr {
        /// Which.
        member: MemberId,
        /// Its name.
        name: String,
        /// Where clients reach it.
        client_urls: Vec<String>,
    },
    /// A member joins, leaves, or changes.
    Conf {
        /// Which.
        member: MemberId,
        /// What becomes of it.
        action: conf::Action,
    },
    /// Set the downgrade target.
    Downgrade {
        /// True while one is active.
        enabled: bool,
        /// The target.
        version: String,
    },
}

/// Reads the body of an entry.
pub fn decode(kind: Kind, body: &Bytes) -> Result<Request, wire::Error> {
    Ok(match kind {
        Kind::Put => Request::Put(wire::put(body)?),
        Kind::DeleteRange => Request::Delete(wire::delete_range(body)?),
        Kind::Txn => Request::Txn(wire::txn(body)?),
        Kind::Compaction => {
            let message = message::<etcdserverpb::CompactionRequest>(body)?;
            Request::Compact { revision: message.revision, physical: message.physical }
        }
        Kind::LeaseGrant => {
            let message = message::<etcdserverpb::LeaseGrantRequest>(body)?;
            Request::LeaseGrant { id: LeaseId(message.id), ttl: message.ttl }
        }
        Kind::LeaseRevoke => {
            let message = message::<etcdserverpb::LeaseRevokeRequest>(body)?;
            Request::LeaseRevoke(LeaseId(message.id))
        }
        Kind::Alarm => {
            let message = message::<etcdserverpb::AlarmRequest>(body)?;
            Request::Alarm {
                action: message.action,
                member: MemberId(message.member_id),
                kind: message.alarm,
            }
        }
        Kind::LeaseCheckpoint => {
            let message = message::<etcdserverpb::LeaseCheckpointRequest>(body)?;
            let pair = |one: &etcdserverpb::LeaseCheckpoint| (LeaseId(one.id), one.remaining_ttl);
            Request::Checkpoint(message.checkpoints.iter().map(pair).collect())
        }
        Kind::ClusterVersionSet => {
            let message = message::<membershippb::ClusterVersionSetRequest>(body)?;
            Request::ClusterVersion(message.ver)
        }
        Kind::ClusterMemberAttrSet => {
            let message = message::<membershippb::ClusterMemberAttrSetRequest>(body)?;
            let attributes = message.member_attributes.unwrap_or_default();
            Request::MemberAttr {
                member: MemberId(message.member_id),
                name: attributes.name,
                client_urls: attributes.client_urls,
            }
        }
        Kind::DowngradeInfoSet => {
            let message = message::<membershippb::DowngradeInfoSetRequest>(body)?;
            Request::Downgrade { enabled: message.enabled, version: message.ver }
        }
    })
}

fn message<M: Message + Default>(body: &Bytes) -> Result<M, wire::Error> {
    M::decode(body.clone()).map_err(|_| wire::Error::Malformed)
}
