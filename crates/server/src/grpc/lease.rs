//! `etcdserverpb.Lease`.

use super::encode::Parts;
use super::frame;
use super::method::Method;
use super::service::{self, Prepared};
use super::status::Status;
use super::stream_call::{End, StreamCall, decode, decode_streamed, unexpected};
use crate::driver::Shell;
use bytes::{Bytes, BytesMut};
use member::{Header, Request, Response};
use prost::Message;
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
    let mut renewals = Renewals::default();
    while let Some(message) = call.receive().await? {
        let request: pb::LeaseKeepAliveRequest = decode_streamed(message)?;
        let answer = call.ask(Request::LeaseKeepAlive(LeaseId(request.id)), 0).await;
        let (id, ttl) = match answer.result {
            Ok(Response::LeaseKeepAlive { id, ttl }) => (id.0, ttl),
            Ok(other) => return Err(unexpected(&answer.header, &other).into()),
            Err(OpError::LeaseNotFound) => (request.id, 0),
            Err(error) => return Err(error.into()),
        };
        call.send(Parts::whole(renewals.framed(answer.header, id, ttl))).await?;
    }
    Ok(())
}

/// Writes the answers of one stream. Their headers are equal until somebody writes, and most of
/// an answer, so the last one is kept as it was encoded.
#[derive(Default)]
struct Renewals {
    header: Option<Header>,
    encoded: Vec<u8>,
}

impl Renewals {
    fn framed(&mut self, header: Header, id: i64, ttl: i64) -> Bytes {
        let mut message = pb::LeaseKeepAliveResponse::default();
        if self.header != Some(header) {
            message.header = service::header(&header);
            self.encoded = message.encode_to_vec();
            (self.header, message.header) = (Some(header), None);
        }
        (message.id, message.ttl) = (id, ttl);
        let len = self.encoded.len() + message.encoded_len();
        let mut out = BytesMut::with_capacity(frame::PREFIX_LEN + len);
        out.extend_from_slice(&frame::prefix(len));
        out.extend_from_slice(&self.encoded);
        message.encode(&mut out).expect("BytesMut grows as needed");
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ClusterId, MemberId, Term};

    #[test]
    fn answers_with_a_kept_header_are_those_that_prost_encodes() {
        let mut renewals = Renewals::default();
        for (revision, id, ttl) in [(1, 7, 60), (1, 7, 60), (1, i64::MIN, 0), (900, 7, 60)] {
            let (cluster, member) = (ClusterId(u64::MAX), MemberId(3));
            let header = Header { cluster, member, revision, term: Term(2) };
            let whole = pb::LeaseKeepAliveResponse { header: service::header(&header), id, ttl };
            assert_eq!(renewals.framed(header, id, ttl), frame::framed(&whole), "{revision} {id}");
        }
    }
}
