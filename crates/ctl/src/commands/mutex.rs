//! Lock and election as etcd's client library does them: a lease, a key below a prefix that
//! carries its id, and the wait until no older key is left.

use std::time::Duration;

use bytes::Bytes;
use client::{Call, Client, Status};
use proto::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use proto::etcdserverpb::range_request::{SortOrder, SortTarget};
use proto::etcdserverpb::request_op::Request;
use proto::etcdserverpb::response_op::Response;
use proto::etcdserverpb::{
    Compare, DeleteRangeRequest, LeaseKeepAliveRequest, PutRequest, RangeRequest, RangeResponse,
    RequestOp, ResponseHeader, TxnRequest, TxnResponse, WatchCreateRequest,
};
use proto::mvccpb::event::EventType;
use tokio::sync::watch;

use super::lease::renewal_pause;
use super::prefix_end;

/// A lease that a task keeps alive.
#[derive(Debug)]
pub(super) struct SessionLease {
    pub(super) id: i64,
    /// Turns true when the lease is gone.
    expired: watch::Receiver<bool>,
}

impl SessionLease {
    pub(super) async fn grant(client: &Client, ttl: i64) -> Result<SessionLease, Status> {
        let call = Call { wait_for_ready: true, ..Call::default() };
        let grant = client.lease_grant(0, ttl, &call).await?;
        let (gone, expired) = watch::channel(false);
        let (client, id) = (client.clone(), grant.id);
        tokio::spawn(async move {
            keep_alive(&client, id).await;
            // Nobody may be left who waits for it.
            let _ = gone.send(true);
        });
        Ok(SessionLease { id, expired })
    }

    /// Waits until the lease is gone.
    pub(super) async fn expired(&self) {
        let mut expired = self.expired.clone();
        // An error means that the task has ended: as good as gone.
        let _ = expired.wait_for(|is_gone| *is_gone).await;
    }
}

async fn keep_alive(client: &Client, id: i64) {
    let call = Call { wait_for_ready: true, ..Call::default() };
    loop {
        if let Ok((mut requests, mut answers)) = client.lease_keep_alive(&call).await {
            while requests.send(&LeaseKeepAliveRequest { id }).is_ok() {
                let Some(Ok(answer)) = answers.next().await else { break };
                if answer.ttl <= 0 {
                    return;
                }
                tokio::time::sleep(renewal_pause(answer.ttl)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A key in the queue for a name.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) key: Bytes,
    pub(super) header: ResponseHeader,
    prefix: Bytes,
    create_revision: i64,
}

impl Place {
    /// Takes a place in the queue of `name`; writes `value` also where the place was held.
    pub(super) async fn take(
        client: &Client,
        name: &[u8],
        lease: i64,
        value: Bytes,
    ) -> Result<Place, Status> {
        let prefix = Bytes::from([name, b"/"].concat());
        let key = Bytes::from([&prefix[..], format!("{lease:x}").as_bytes()].concat());
        let put = PutRequest { key: key.clone(), value, lease, ..PutRequest::default() };
        let get = RangeRequest { key: key.clone(), ..RangeRequest::default() };
        let request = TxnRequest {
            compare: vec![created(&key, 0)],
            success: vec![RequestOp { request: Some(Request::RequestPut(put)) }],
            failure: vec![RequestOp { request: Some(Request::RequestRange(get)) }],
        };
        let answer = client.txn(&request, &call()).await?;
        let header = answer.header.unwrap_or_default();
        let create_revision = held_since(&answer).unwrap_or(header.revision);
        Ok(Place { key, header, prefix, create_revision })
    }

    /// Waits until this is the oldest place of the queue.
    pub(super) async fn wait(&self, client: &Client) -> Result<(), Status> {
        let older = RangeRequest {
            key: self.prefix.clone(),
            range_end: prefix_end(&self.prefix),
            limit: 1,
            sort_order: SortOrder::Descend.into(),
            sort_target: SortTarget::Create.into(),
            max_create_revision: self.create_revision - 1,
            ..RangeRequest::default()
        };
        loop {
            let answer = client.range(&older, &call()).await?;
            let revision = answer.header.unwrap_or_default().revision;
            let Some(kv) = answer.kvs.into_iter().next() else { return Ok(()) };
            wait_delete(client, kv.key, revision).await?;
        }
    }

    /// The place as it is stored.
    pub(super) async fn read(&self, client: &Client) -> Result<RangeResponse, Status> {
        let request = RangeRequest { key: self.key.clone(), ..RangeRequest::default() };
        client.range(&request, &call()).await
    }

    /// Gives the place up if it is still the same one.
    pub(super) async fn leave(&self, client: &Client) -> Result<(), Status> {
        let delete = DeleteRangeRequest { key: self.key.clone(), ..DeleteRangeRequest::default() };
        let request = TxnRequest {
            compare: vec![created(&self.key, self.create_revision)],
            success: vec![RequestOp { request: Some(Request::RequestDeleteRange(delete)) }],
            failure: vec![],
        };
        client.txn(&request, &call()).await.map(drop)
    }
}

fn call() -> Call {
    Call { wait_for_ready: true, ..Call::default() }
}

fn created(key: &Bytes, revision: i64) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Create.into(),
        key: key.clone(),
        range_end: Bytes::new(),
        target_union: Some(TargetUnion::CreateRevision(revision)),
    }
}

/// Since which revision a place was held already.
fn held_since(answer: &TxnResponse) -> Option<i64> {
    match answer.responses.first()?.response.as_ref()? {
        Response::ResponseRange(range) => range.kvs.first().map(|kv| kv.create_revision),
        _ => None,
    }
}

/// Waits for the delete of a key at or after a revision.
async fn wait_delete(client: &Client, key: Bytes, revision: i64) -> Result<(), Status> {
    let mut next_revision = revision;
    loop {
        let mut stream = client.watch(&call()).await?;
        stream.create(WatchCreateRequest {
            key: key.clone(),
            start_revision: next_revision,
            ..WatchCreateRequest::default()
        })?;
        while let Some(Ok(answer)) = stream.next().await {
            if answer.canceled {
                // Compacted, or refused: the caller looks again.
                return Ok(());
            }
            for event in &answer.events {
                if event.r#type == i32::from(EventType::Delete) {
                    return Ok(());
                }
                let changed = event.kv.as_ref().map_or(0, |kv| kv.mod_revision);
                next_revision = next_revision.max(changed + 1);
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
