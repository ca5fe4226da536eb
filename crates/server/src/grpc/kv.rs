//! `etcdserverpb.KV`, but for `RangeStream`.

use super::encode::{self, Parts};
use super::method::Method;
use super::service::{self, Prepared};
use super::status::Status;
use super::stream_call::{decode, malformed, unexpected};
use super::txn::{Malformed, Txn};
use super::validate;
use crate::driver::Shell;
use bytes::Bytes;
use member::{Header, Request, Response, WriteKind};
use proto::{etcdserverpb as pb, wire};
use types::OpError;

/// Checks a request: quota, then shape.
pub fn prepare(method: Method, message: Bytes, shell: &Shell) -> Result<Prepared, Status> {
    let request = match method {
        Method::Range => {
            let request = read(wire::range(&message))?;
            validate::range(&request)?;
            Request::Range(request)
        }
        Method::Put => put(message, shell)?,
        Method::DeleteRange => {
            validate::delete(&read(wire::delete_range(&message))?)?;
            Request::Write { kind: WriteKind::DeleteRange, body: message, quota_cost: 0 }
        }
        Method::Txn => txn(message, shell)?,
        Method::Compact => {
            let request: pb::CompactionRequest = decode(message)?;
            Request::Compact { revision: request.revision, physical: request.physical }
        }
        other => return Err(Status::not_implemented(other.name())),
    };
    Ok(Prepared::Ask(request))
}

/// What `proto::wire` read, or Go's refusal.
pub fn read<T>(read: Result<T, wire::Error>) -> Result<T, Status> {
    read.map_err(|_| malformed(Malformed::Wire.text()))
}

fn put(message: Bytes, shell: &Shell) -> Result<Request, Status> {
    let request = read(wire::put(&message))?;
    let quota_cost = validate::put_cost(&request);
    if shell.refuse_for_space(quota_cost) {
        return Err(OpError::NoSpace.into());
    }
    validate::put(&request)?;
    Ok(Request::Write { kind: WriteKind::Put, body: message, quota_cost })
}

fn txn(message: Bytes, shell: &Shell) -> Result<Request, Status> {
    let request = Txn::decode(message.clone()).map_err(|error| malformed(error.text()))?;
    let quota_cost = validate::txn_cost(&request);
    if shell.refuse_for_space(quota_cost) {
        return Err(OpError::NoSpace.into());
    }
    validate::txn(&request, shell.config.max_txn_ops)?;
    if validate::is_read_only(&request) {
        return Ok(Request::ReadTxn(validate::read_txn_op(request)));
    }
    Ok(Request::Write { kind: WriteKind::Txn, body: message, quota_cost })
}

/// Writes an answer around the stored bytes.
pub fn answer(header: &Header, response: Response) -> Result<Parts, Status> {
    match response {
        Response::Range(outcome) => Ok(encode::range(header, outcome)),
        Response::Put(outcome) => Ok(encode::put(header, outcome)),
        Response::Delete(outcome) => Ok(encode::delete(header, outcome)),
        Response::Txn(outcome) => Ok(encode::txn(header, outcome)),
        Response::Compact => {
            service::message(&pb::CompactionResponse { header: service::header(header) })
        }
        other => Err(unexpected(header, &other)),
    }
}
