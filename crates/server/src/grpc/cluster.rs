//! `etcdserverpb.Cluster`: the list; changes come with clusters of several members.

use super::encode::Parts;
use super::method::Method;
use super::service::{self, Prepared};
use super::status::Status;
use super::stream_call::{decode, unexpected};
use bytes::Bytes;
use member::{Header, Request, Response};
use proto::etcdserverpb as pb;

/// Checks a request.
pub fn prepare(method: Method, message: Bytes) -> Result<Prepared, Status> {
    match method {
        Method::MemberList => {
            let request: pb::MemberListRequest = decode(message)?;
            Ok(Prepared::Ask(Request::MemberList { linearizable: request.linearizable }))
        }
        other => Err(Status::not_implemented(other.name())),
    }
}

/// Writes an answer; the header's revision is never set here.
pub fn answer(header: &Header, response: Response) -> Result<Parts, Status> {
    let Response::Members(members) = response else {
        return Err(unexpected(header, &response));
    };
    let members = members.into_iter().map(|member| pb::Member {
        id: member.id.0,
        name: member.name,
        peer_ur_ls: member.peer_urls,
        client_ur_ls: member.client_urls,
        is_learner: member.is_learner,
    });
    let header = Header { revision: 0, ..*header };
    service::message(&pb::MemberListResponse {
        header: service::header(&header),
        members: members.collect(),
    })
}
