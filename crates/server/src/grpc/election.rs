//! `v3electionpb.Election`: programs over transactions, ranges and watches, as clientv3's are.

use super::lock::{created_at, op, own_key, prefix, range_at};
use super::method::Method;
use super::service;
use super::session::{Session, is_delete, records, until_gone};
use super::status::{Code, Status};
use super::stream_call::{End, StreamCall};
use bytes::Bytes;
use member::Header;
use proto::etcdserverpb as pb;
use proto::mvccpb::KeyValue;
use proto::v3electionpb as epb;
use types::KeyRange;
use types::range::prefix_end;

/// Serves one call.
pub async fn serve(method: Method, call: &mut StreamCall) -> Result<(), End> {
    let session = Session::new(call);
    match method {
        Method::Campaign => {
            let request: epb::CampaignRequest = call.receive_one().await?;
            let answer = until_gone(call, campaign(session, request)).await?;
            call.send_message(&answer).await
        }
        Method::Proclaim => {
            let request: epb::ProclaimRequest = call.receive_one().await?;
            let leader = request.leader.ok_or_else(no_leader_field)?;
            let work = async {
                session.lease(leader.lease).await?;
                proclaim(&session, &leader, request.value).await
            };
            let header = until_gone(call, work).await?;
            call.send_message(&epb::ProclaimResponse { header: service::header(&header) }).await
        }
        Method::Leader => {
            let request: epb::LeaderRequest = call.receive_one().await?;
            let prefix = prefix(&request.name);
            let found = until_gone(call, session.oldest(&prefix)).await?;
            let Some(kv) = found.value.into_iter().next() else {
                return Err(Status::new(Code::Unknown, "election: no leader").into());
            };
            let header = service::header(&found.header);
            call.send_message(&epb::LeaderResponse { header, kv: Some(kv) }).await
        }
        Method::Resign => {
            let request: epb::ResignRequest = call.receive_one().await?;
            let leader = request.leader.ok_or_else(no_leader_field)?;
            let work = async {
                session.lease(leader.lease).await?;
                resign(&session, &leader).await
            };
            let header = until_gone(call, work).await?;
            call.send_message(&epb::ResignResponse { header: service::header(&header) }).await
        }
        _ => observe(call, session).await,
    }
}

fn no_leader_field() -> Status {
    Status::new(Code::Unknown, "\"leader\" field must be provided")
}

async fn campaign(
    session: Session,
    request: epb::CampaignRequest,
) -> Result<epb::CampaignResponse, Status> {
    use pb::request_op::Request;
    let lease = session.lease(request.lease).await?;
    let prefix = prefix(&request.name);
    let key = own_key(&prefix, lease);
    let value = request.value;
    let put =
        pb::PutRequest { key: key.clone(), value: value.clone(), lease, ..Default::default() };
    let get = pb::RangeRequest { key: key.clone(), ..Default::default() };
    let txn = pb::TxnRequest {
        compare: vec![created_at(&key, 0)],
        success: vec![op(Request::RequestPut(put))],
        failure: vec![op(Request::RequestRange(get))],
    };
    let joined = session.txn(txn).await?;
    let mut leader = epb::LeaderKey { name: request.name, key, rev: joined.header.revision, lease };
    let mut cleanup = Cleanup { session: Some(session.clone()), leader: leader.clone() };
    if !joined.value.succeeded {
        let own = match range_at(&joined.value, 0) {
            Some(range) => records(range)?.into_iter().next(),
            None => None,
        };
        if let Some(own) = own {
            leader.rev = own.create_revision;
            cleanup.leader = leader.clone();
            if own.value != value {
                proclaim(&session, &leader, value).await?;
            }
        }
    }
    session.wait_for_older(&prefix, leader.rev).await?;
    cleanup.session = None;
    let header = service::header(&joined.header);
    Ok(epb::CampaignResponse { header, leader: Some(leader) })
}

/// Resigns if the campaign does not end well.
struct Cleanup {
    session: Option<Session>,
    leader: epb::LeaderKey,
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let leader = self.leader.clone();
            session.detach(async move |session| {
                // The key has a lease: it goes away with it if not now.
                let _ = resign(&session, &leader).await;
            });
        }
    }
}

async fn proclaim(
    session: &Session,
    leader: &epb::LeaderKey,
    value: Bytes,
) -> Result<Header, Status> {
    let (key, lease) = (leader.key.clone(), leader.lease);
    let put = pb::PutRequest { key, value, lease, ..Default::default() };
    let done = if_still_leader(session, leader, pb::request_op::Request::RequestPut(put)).await?;
    match done {
        (header, true) => Ok(header),
        (_, false) => Err(Status::new(Code::Unknown, "election: not leader")),
    }
}

async fn resign(session: &Session, leader: &epb::LeaderKey) -> Result<Header, Status> {
    let delete = pb::DeleteRangeRequest { key: leader.key.clone(), ..Default::default() };
    let request = pb::request_op::Request::RequestDeleteRange(delete);
    Ok(if_still_leader(session, leader, request).await?.0)
}

/// Does one operation if the leader's key is still the one it was elected with.
async fn if_still_leader(
    session: &Session,
    leader: &epb::LeaderKey,
    request: pb::request_op::Request,
) -> Result<(Header, bool), Status> {
    if leader.key.is_empty() {
        return Err(Status::from(types::OpError::EmptyKey).as_unknown());
    }
    let txn = pb::TxnRequest {
        compare: vec![created_at(&leader.key, leader.rev)],
        success: vec![op(request)],
        failure: Vec::new(),
    };
    let done = session.txn(txn).await?;
    Ok((done.header, done.value.succeeded))
}

/// Sends the leader, each change of its value, and each leader after it.
async fn observe(call: &mut StreamCall, session: Session) -> Result<(), End> {
    let request: epb::LeaderRequest = call.receive_one().await?;
    let prefix = prefix(&request.name);
    loop {
        let (header, leader) = until_gone(call, next_leader(&session, &prefix)).await?;
        let key = leader.key.clone();
        send_leader(call, &header, leader).await?;
        let mut watcher = session.watch(KeyRange::single(key), header.revision + 1);
        'leading: loop {
            let (revision, events) = until_gone(call, watcher.next()).await?;
            let header = session.header(revision);
            for event in events {
                if is_delete(&event) {
                    break 'leading;
                }
                send_leader(call, &header, event.kv.unwrap_or_default()).await?;
            }
        }
    }
}

async fn send_leader(call: &mut StreamCall, header: &Header, kv: KeyValue) -> Result<(), End> {
    let header = service::header(header);
    call.send_message(&epb::LeaderResponse { header, kv: Some(kv) }).await
}

/// The oldest key under the prefix, waited for if there is none.
async fn next_leader(session: &Session, prefix: &Bytes) -> Result<(Header, KeyValue), Status> {
    let found = session.oldest(prefix).await?;
    if let Some(kv) = found.value.into_iter().next() {
        return Ok((found.header, kv));
    }
    let range = KeyRange::new(prefix.clone(), prefix_end(prefix));
    let mut watcher = session.watch(range, found.header.revision);
    loop {
        let (_, events) = watcher.next().await?;
        let put = events.into_iter().find(|event| !is_delete(event)).and_then(|event| event.kv);
        if let Some(kv) = put {
            return Ok((session.header(kv.mod_revision), kv));
        }
    }
}
