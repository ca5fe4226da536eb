//! `etcdserverpb.Auth`: not offered yet; only its state can be asked for.

use super::encode::Parts;
use super::method::Method;
use super::service::{self, Prepared};
use super::status::Status;
use super::stream_call::unexpected;
use crate::driver::Shell;
use member::{Header, Request, Response};

/// Revision of an auth store that was never changed.
const AUTH_REVISION_FIRST: u64 = 1;

/// `AuthStatusResponse`, until the generated messages hold the auth service.
#[derive(Clone, PartialEq, prost::Message)]
struct AuthStatusResponse {
    #[prost(message, optional, tag = "1")]
    header: Option<proto::etcdserverpb::ResponseHeader>,
    #[prost(bool, tag = "2")]
    enabled: bool,
    #[prost(uint64, tag = "3")]
    auth_revision: u64,
}

/// Checks a request.
pub fn prepare(method: Method, _shell: &Shell) -> Result<Prepared, Status> {
    match method {
        // As in etcd, the answer comes from what is applied here after a confirmed read.
        Method::AuthStatus => Ok(Prepared::Ask(Request::Barrier)),
        other => Err(Status::not_implemented(other.name())),
    }
}

/// Writes an answer.
pub fn answer(method: Method, header: &Header, response: Response) -> Result<Parts, Status> {
    match (method, response) {
        (Method::AuthStatus, Response::Barrier) => service::message(&AuthStatusResponse {
            header: service::header(header),
            enabled: false,
            auth_revision: AUTH_REVISION_FIRST,
        }),
        (_, other) => Err(unexpected(header, &other)),
    }
}
