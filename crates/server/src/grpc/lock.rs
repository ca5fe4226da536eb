//! `v3lockpb.Lock`: a program over transactions, ranges and watches, as clientv3's mutex is.

use super::method::Method;
use super::service;
use super::session::{Session, first_created_request, records, until_gone};
use super::status::{Code, Status};
use super::stream_call::{End, StreamCall};
use bytes::Bytes;
use member::Header;
use proto::etcdserverpb as pb;
use proto::v3lockpb;
use types::outcome::{OpOutcome, RangeOutcome, TxnOutcome};
use types::{KeyRange, RangeOp};

/// Serves one call.
pub async fn serve(method: Method, call: &mut StreamCall) -> Result<(), End> {
    let session = Session::new(call);
    if method == Method::Unlock {
        let request: v3lockpb::UnlockRequest = call.receive_one().await?;
        let header = until_gone(call, session.delete(request.key)).await?;
        let header = service::header(&header);
        return call.send_message(&v3lockpb::UnlockResponse { header }).await;
    }
    let request: v3lockpb::LockRequest = call.receive_one().await?;
    let (header, key) = until_gone(call, lock(session, request)).await?;
    let header = service::header(&header);
    call.send_message(&v3lockpb::LockResponse { header, key }).await
}

async fn lock(session: Session, request: v3lockpb::LockRequest) -> Result<(Header, Bytes), Status> {
    let lease = session.lease(request.lease).await?;
    let prefix = prefix(&request.name);
    let key = own_key(&prefix, lease);
    let tried = session.txn(try_acquire(&prefix, &key, lease)).await?;
    let (first, oldest) = (range_at(&tried.value, 0), range_at(&tried.value, 1));
    let create = match (tried.value.succeeded, first) {
        (true, _) | (false, None) => tried.header.revision,
        (false, Some(range)) => {
            records(range)?.first().map_or(tried.header.revision, |kv| kv.create_revision)
        }
    };
    let owner = match oldest {
        Some(range) => records(range)?.first().map(|kv| kv.create_revision),
        None => None,
    };
    if owner.is_none_or(|owner| owner == create) {
        return Ok((tried.header, key));
    }
    let mut cleanup = Cleanup { session: Some(session.clone()), key: key.clone() };
    session.wait_for_older(&prefix, create).await?;
    let again = session
        .range(RangeOp { range: KeyRange::single(key.clone()), ..RangeOp::default() })
        .await?;
    cleanup.session = None;
    if again.value.is_empty() {
        return Err(Status::new(Code::Unknown, "mutex: session is expired"));
    }
    Ok((again.header, key))
}

/// Removes the own key if the wait does not end well.
struct Cleanup {
    session: Option<Session>,
    key: Bytes,
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let key = self.key.clone();
            session.detach(async move |session| {
                // The key has a lease: it goes away with it if not now.
                let _ = session.delete(key).await;
            });
        }
    }
}

/// The keys of a lock or an election lie under its name and a slash.
pub fn prefix(name: &[u8]) -> Bytes {
    let mut prefix = name.to_vec();
    prefix.push(b'/');
    prefix.into()
}

/// The key of one lease under a prefix. A negative lease id prints with its sign, as Go's `%x`.
pub fn own_key(prefix: &[u8], lease: i64) -> Bytes {
    let mut key = prefix.to_vec();
    let sign = if lease < 0 { "-" } else { "" };
    key.extend_from_slice(format!("{sign}{:x}", lease.unsigned_abs()).as_bytes());
    key.into()
}

/// The range outcome at a place of a transaction's answer.
pub fn range_at(outcome: &TxnOutcome, at: usize) -> Option<&RangeOutcome> {
    match outcome.outcomes.get(at) {
        Some(OpOutcome::Range(range)) => Some(range),
        _ => None,
    }
}

/// An operation of a transaction.
pub fn op(request: pb::request_op::Request) -> pb::RequestOp {
    pb::RequestOp { request: Some(request) }
}

/// Holds if the key was created at this revision; 0: if it does not exist.
pub fn created_at(key: &Bytes, revision: i64) -> pb::Compare {
    pb::Compare {
        result: i32::from(pb::compare::CompareResult::Equal),
        target: i32::from(pb::compare::CompareTarget::Create),
        key: key.clone(),
        range_end: Bytes::new(),
        target_union: Some(pb::compare::TargetUnion::CreateRevision(revision)),
    }
}

fn try_acquire(prefix: &[u8], key: &Bytes, lease: i64) -> pb::TxnRequest {
    use pb::request_op::Request;
    let put = pb::PutRequest { key: key.clone(), lease, ..Default::default() };
    let get = pb::RangeRequest { key: key.clone(), ..Default::default() };
    let owner = op(Request::RequestRange(first_created_request(prefix)));
    pb::TxnRequest {
        compare: vec![created_at(key, 0)],
        success: vec![op(Request::RequestPut(put)), owner.clone()],
        failure: vec![op(Request::RequestRange(get)), owner],
    }
}
