//! Unary methods: from a message to a request of the member, from its answer to a message.

use super::encode::Parts;
use super::method::Method;
use super::status::Status;
use super::{auth, cluster, health, kv, lease, maintenance};
use crate::driver::Shell;
use bytes::Bytes;
use member::{Header, Request, Response};
use types::OpError;

/// What a service makes of a message.
#[derive(Debug)]
pub enum Prepared {
    /// A request of the member.
    Ask(Request),
    /// The answer at once, framed.
    Done(Parts),
}

impl Prepared {
    /// An answer at once.
    pub fn message(message: &impl prost::Message) -> Prepared {
        Prepared::Done(Parts::whole(super::frame::framed(message)))
    }
}

/// Checks a message in contract §2.3's order and turns it into a request.
pub fn prepare(method: Method, message: Bytes, shell: &Shell) -> Result<Prepared, Status> {
    use Method::*;
    match method {
        Range | Put | DeleteRange | Txn | Compact => kv::prepare(method, message, shell),
        LeaseGrant | LeaseRevoke | LeaseTimeToLive | LeaseLeases => {
            lease::prepare(method, message, shell)
        }
        MemberAdd | MemberRemove | MemberUpdate | MemberList | MemberPromote => {
            cluster::prepare(method, message)
        }
        Alarm | Status | Defragment | Hash | HashKv | MoveLeader | Downgrade => {
            maintenance::prepare(method, message, shell)
        }
        HealthCheck | HealthList => health::prepare(method, message, shell),
        _ => auth::prepare(method, shell),
    }
}

/// Turns an answer into a framed message.
pub fn answer(
    method: Method,
    header: Header,
    result: Result<Response, OpError>,
    shell: &Shell,
) -> Result<Parts, Status> {
    use Method::*;
    let response = result?;
    match method {
        Range | Put | DeleteRange | Txn | Compact => kv::answer(&header, response),
        LeaseGrant | LeaseRevoke | LeaseTimeToLive | LeaseLeases => {
            lease::answer(&header, response)
        }
        MemberList => cluster::answer(&header, response),
        Alarm | Status | Defragment | Hash | HashKv | MoveLeader | Downgrade => {
            maintenance::answer(&header, response, shell)
        }
        _ => auth::answer(method, &header, response),
    }
}

/// The header of an answer that prost encodes.
pub fn header(header: &Header) -> Option<proto::etcdserverpb::ResponseHeader> {
    Some(proto::etcdserverpb::ResponseHeader {
        cluster_id: header.cluster.0,
        member_id: header.member.0,
        revision: header.revision,
        raft_term: header.term.0,
    })
}

/// A framed answer that prost encodes.
pub fn message(message: &impl prost::Message) -> Result<Parts, Status> {
    Ok(Parts::whole(super::frame::framed(message)))
}
