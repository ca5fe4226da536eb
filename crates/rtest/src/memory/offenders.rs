//! What clients do to a server's memory, one function each; each says what became of it.

use super::{connect, failed, frame, nested, put};
use crate::wait::pause;
use anyhow::{Result, ensure};
use bytes::BytesMut;
use client::{Call, Client};
use prost::Message;
use proto::etcdserverpb as pb;
use std::pin::Pin;
use std::time::{Duration, Instant};

type Part = fn(String) -> Pin<Box<dyn Future<Output = Result<String>>>>;

/// All parts with their names, in order.
pub(super) const PARTS: [(&str, Part); 8] = [
    ("100 unread ranges of 100 MB", |endpoint| Box::pin(ranges(endpoint))),
    ("10,000 watchers that never read", |endpoint| Box::pin(watchers(endpoint))),
    ("1 M watch creates on a stream", |endpoint| Box::pin(creates(endpoint))),
    ("100 k leases expire together", |endpoint| Box::pin(leases(endpoint))),
    ("a lease of 500 k keys is revoked", |endpoint| Box::pin(revoke(endpoint))),
    ("500 k keys are deleted", |endpoint| Box::pin(delete(endpoint))),
    ("500 k keys are deleted in a txn", |endpoint| Box::pin(delete_in_txn(endpoint))),
    ("a txn as deep as the wire allows", |endpoint| Box::pin(deep(endpoint))),
];

/// Leases run out this long after the first was granted.
const LEASES_SECONDS: u64 = 15;
const PATIENCE: Duration = Duration::from_secs(30);
/// Time for 100 k leases to end: the last second of their time, and some more on a slow host. etcd,
/// which revokes 1,000 in a second, would take 100 s.
const LEASES_PATIENCE: Duration = Duration::from_secs(LEASES_SECONDS + 15);

fn long() -> Call {
    Call::within(PATIENCE)
}

fn prefix(key: &str) -> pb::RangeRequest {
    let mut end = key.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    pb::RangeRequest { key: key.to_string().into(), range_end: end.into(), ..Default::default() }
}

async fn ranges(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    for at in 0..100 {
        put(&client, &format!("big/{at}"), 1_000_000, &long()).await.map_err(failed)?;
    }
    let mut held = Vec::new();
    for _ in 0..100 {
        let client = connect(&endpoint)?;
        let path = "/etcdserverpb.KV/Range";
        let answers = client
            .server_stream::<_, pb::RangeResponse>(path, &prefix("big/"), &Call::default())
            .await
            .map_err(failed)?;
        held.push((client, answers));
    }
    pause(Duration::from_secs(5)).await;
    let (mut whole, mut refused) = (0, 0);
    for (_client, answers) in held.iter_mut().take(2) {
        match answers.next_raw().await {
            Some(Ok(_)) => whole += 1,
            _ => refused += 1,
        }
    }
    drop(held);
    let all = pb::DeleteRangeRequest {
        key: "big/".into(),
        range_end: "big0".into(),
        ..Default::default()
    };
    client.delete_range(&all, &long()).await.map_err(failed)?;
    Ok(format!("of 2 read in the end {whole} whole, {refused} refused"))
}

fn create(key: &str) -> pb::WatchRequest {
    let create = pb::WatchCreateRequest { key: key.to_string().into(), ..Default::default() };
    let union = pb::watch_request::RequestUnion::CreateRequest(create);
    pb::WatchRequest { request_union: Some(union) }
}

const WATCH: &str = "/etcdserverpb.Watch/Watch";

async fn watchers(endpoint: String) -> Result<String> {
    let mut held = Vec::new();
    for _ in 0..10 {
        let client = connect(&endpoint)?;
        for _ in 0..10 {
            let (mut requests, answers) = client
                .bidi::<pb::WatchRequest, pb::WatchResponse>(WATCH, &Call::default())
                .await
                .map_err(failed)?;
            for _ in 0..100 {
                requests.send(&create("watched")).map_err(failed)?;
            }
            held.push((client.clone(), requests, answers));
        }
    }
    let client = connect(&endpoint)?;
    let (began, mut puts) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(6) {
        put(&client, "watched", 10_000, &long()).await.map_err(failed)?;
        puts += 1;
        pause(Duration::from_millis(10)).await;
    }
    drop(held);
    Ok(format!("{puts} events each"))
}

async fn creates(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    let (mut requests, mut answers) = client
        .bidi::<pb::WatchRequest, pb::WatchResponse>(WATCH, &Call::default())
        .await
        .map_err(failed)?;
    let mut thousand = BytesMut::new();
    let one = create("many").encode_to_vec();
    for _ in 0..1_000 {
        frame(&one, &mut thousand);
    }
    let thousand = thousand.freeze();
    for _ in 0..1_000 {
        requests.send_framed(thousand.clone()).map_err(failed)?;
    }
    let (deadline, mut created) = (Instant::now() + Duration::from_secs(12), 0_u64);
    while created < 1_000_000 {
        let left = deadline.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, answers.next_raw()).await {
            Ok(Some(Ok(_))) => created += 1,
            Ok(Some(Err(status))) => return Ok(format!("{created} created, then {status:?}")),
            Ok(None) => return Ok(format!("{created} created, then the stream ended")),
            Err(_) => break,
        }
    }
    Ok(format!("{created} created in time"))
}

/// Runs `count` calls, 64 at a time.
async fn many<F>(count: usize, call: impl Fn(usize) -> F + Clone + 'static) -> Result<()>
where
    F: Future<Output = Result<()>> + 'static,
{
    let workers = (0..64_usize).map(|worker| {
        let call = call.clone();
        tokio::task::spawn_local(async move {
            for at in (worker..count).step_by(64) {
                call(at).await?;
            }
            anyhow::Ok(())
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await??;
    }
    Ok(())
}

async fn lease(client: &Client, ttl: i64) -> Result<i64> {
    let request = pb::LeaseGrantRequest { ttl, id: 0 };
    let path = "/etcdserverpb.Lease/LeaseGrant";
    let granted: pb::LeaseGrantResponse =
        client.unary(path, &request, &long()).await.map_err(failed)?;
    Ok(granted.id)
}

async fn leases(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    let granter = client.clone();
    // Each gets what is left until one common second.
    let first = Instant::now();
    many(100_000, move |_| {
        let client = granter.clone();
        let ttl = LEASES_SECONDS.saturating_sub(first.elapsed().as_secs()).max(2);
        async move { lease(&client, i64::try_from(ttl)?).await.map(drop) }
    })
    .await?;
    let began = Instant::now();
    loop {
        let request = pb::LeaseLeasesRequest {};
        let path = "/etcdserverpb.Lease/LeaseLeases";
        let left: pb::LeaseLeasesResponse =
            client.unary(path, &request, &long()).await.map_err(failed)?;
        if left.leases.is_empty() {
            return Ok(format!("all gone {:.1?} after the last grant", began.elapsed()));
        }
        ensure!(began.elapsed() < LEASES_PATIENCE, "{} leases are left", left.leases.len());
        pause(Duration::from_millis(200)).await;
    }
}

/// Puts half a million keys, attached to a lease if it is not 0.
async fn fill(client: &Client, lease: i64) -> Result<()> {
    const KEYS_PER_TXN: usize = 125;
    let putter = client.clone();
    many(500_000 / KEYS_PER_TXN, move |at| {
        let client = putter.clone();
        async move {
            let op = |key: usize| {
                let put = pb::PutRequest {
                    key: format!("half/{:07}", at * KEYS_PER_TXN + key).into(),
                    value: "x".into(),
                    lease,
                    ..Default::default()
                };
                let request = Some(pb::request_op::Request::RequestPut(put));
                pb::RequestOp { request }
            };
            let success = (0..KEYS_PER_TXN).map(op).collect();
            let request = pb::TxnRequest { success, ..Default::default() };
            let path = "/etcdserverpb.KV/Txn";
            let answer = client.unary::<_, pb::TxnResponse>(path, &request, &long()).await;
            answer.map(drop).map_err(failed)
        }
    })
    .await?;
    let before = count(client).await?;
    ensure!(before == 500_000, "{before} keys were put");
    Ok(())
}

async fn count(client: &Client) -> Result<i64> {
    let count = pb::RangeRequest { count_only: true, ..prefix("half/") };
    Ok(client.range(&count, &long()).await.map_err(failed)?.count)
}

async fn revoke(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    let id = lease(&client, 600).await?;
    fill(&client, id).await?;
    let began = Instant::now();
    let path = "/etcdserverpb.Lease/LeaseRevoke";
    let request = pb::LeaseRevokeRequest { id };
    let outcome = client.unary::<_, pb::LeaseRevokeResponse>(path, &request, &long()).await;
    outcome.map_err(failed)?;
    let left = count(&client).await?;
    ensure!(left == 0, "{left} keys are left");
    Ok(format!("revoked in {:.1?}", began.elapsed()))
}

fn half() -> pb::DeleteRangeRequest {
    let pb::RangeRequest { key, range_end, .. } = prefix("half/");
    pb::DeleteRangeRequest { key, range_end, prev_kv: false }
}

async fn delete(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    fill(&client, 0).await?;
    let began = Instant::now();
    let deleted = client.delete_range(&half(), &long()).await.map_err(failed)?.deleted;
    ensure!(deleted == 500_000, "{deleted} keys were deleted");
    Ok(format!("deleted in {:.1?}", began.elapsed()))
}

async fn delete_in_txn(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    fill(&client, 0).await?;
    let began = Instant::now();
    let request = Some(pb::request_op::Request::RequestDeleteRange(half()));
    let success = vec![pb::RequestOp { request }];
    let request = pb::TxnRequest { success, ..Default::default() };
    let outcome =
        client.unary::<_, pb::TxnResponse>("/etcdserverpb.KV/Txn", &request, &long()).await;
    outcome.map_err(failed)?;
    let left = count(&client).await?;
    ensure!(left == 0, "{left} keys are left");
    Ok(format!("deleted in {:.1?}", began.elapsed()))
}

async fn deep(endpoint: String) -> Result<String> {
    let client = connect(&endpoint)?;
    let path = "/etcdserverpb.KV/Txn";
    let mut outcomes = Vec::new();
    for bytes in [300, 10_000, 1_400_000] {
        let (request, depth) = nested(bytes);
        let answer = client.unary_raw(path, &request, &long()).await;
        let outcome = answer.map_or_else(|status| format!("{status:?}"), |_| "ok".to_string());
        outcomes.push(format!("depth {depth}: {outcome}"));
    }
    Ok(outcomes.join(", "))
}
