//! `etcdserverpb.Lease`.

use super::encode::Parts;
use super::method::Method;
use super::service::{self, Prepared};
use super::status::Status;
use super::stream_call::{End, StreamCall, decode, decode_streamed, unexpected};
use crate::driver::Shell;
use bytes::Bytes;
use member::{Header, Request, Response};
use proto::etcdserverpb as pb;
use types::limits::QUOTA_LEASE_BYTES;
use types::{LeaseId, OpError};

/// Checks a request.
pub fn prepare(method: Method, message: Bytes, shell: &Shell) -> Result<Prepared, Status> {
    let request = match method {
        Method::LeaseGrant => {
            let request: pb::LeaseGrantRequest = decode(message)?;
            if shell.refuse_for_space(QUOTA_LEASE_BYTES) {
                return Err(OpError::NoSpace.into());
            }
            Request::LeaseGrant { id: LeaseId(request.id), ttl: request.ttl }
        }
        Method::LeaseRevoke => {
            let request: pb::LeaseRevokeRequest = decode(message)?;
            Request::LeaseRevoke(LeaseId(request.id))
        }
        Method::LeaseTimeToLive => {
            let request: pb::LeaseTimeToLiveRequest = decode(message)?;
            Request::LeaseTimeToLive { id: LeaseId(request.id), keys: request.keys }
        }
        Method::LeaseLeases => Request::LeaseLeases,
        other => return Err(Status::not_implemented(other.name())),
    };
    Ok(Prepared::Ask(request))
}

/// Writes an answer.
pub fn answer(header: &Header, response: Response) -> Result<Parts, Status> {
    let head = service::header(header);
    match response {
        Response::LeaseGrant { id, ttl } => service::message(&pb::LeaseGrantResponse {
            header: head,
            id: id.0,
            ttl,
            error: String::new(),
        }),
        Response::LeaseRevoke => service::message(&pb::LeaseRevokeResponse { header: head }),
        Response::LeaseTimeToLive { id, ttl, granted_ttl, keys } => {
            service::message(&pb::LeaseTimeToLiveResponse {
                header: head,
                id: id.0,
                ttl,
                granted_ttl,
                keys,
            })
        }
        Response::LeaseLeases(leases) => service::message(&pb::LeaseLeasesResponse {
            header: head,
            leases: leases.iter().map(|id| pb::LeaseStatus { id: id.0 }).collect(),
        }),
        other => Err(unexpected(header, &other)),
    }
}

/// Serves a keep-alive stream: one answer per request, in order.
pub async fn keep_alive(call: &mut StreamCall) -> Result<(), End> {
    while let Some(message) = call.receive().await? {
        let request: pb::LeaseKeepAliveRequest = decode_streamed(message)?;
        let answer = call.ask(Request::LeaseKeepAlive(LeaseId(request.id)), 0).await;
        let (id, ttl) = match answer.result {
            Ok(Response::LeaseKeepAlive { id, ttl }) => (id.0, ttl),
            Ok(other) => return Err(unexpected(&answer.header, &other).into()),
            Err(OpError::LeaseNotFound) => (request.id, 0),
            Err(error) => return Err(error.into()),
        };
        let header = service::header(&answer.header);
        call.send_message(&pb::LeaseKeepAliveResponse { header, id, ttl }).await?;
    }
    Ok(())
}
