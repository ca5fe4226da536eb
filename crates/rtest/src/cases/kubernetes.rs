//! What Kubernetes asks, and a small machine at the edge under its load.

use super::ask::{
    Must, call, compact, next, op, pause, prefix_of, put_of, range, range_of, revision,
    watch_prefix,
};
use super::disk::mount;
use super::place::{Place, start};
use super::process::{files, processor_time, resident_peak};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use client::{Call, Client};
use proto::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use proto::etcdserverpb::response_op::Response;
use proto::etcdserverpb::{
    Compare, DeleteRangeRequest, PutRequest, RangeRequest, TxnRequest, TxnResponse,
    WatchCreateRequest, request_op::Request,
};
use proto::mvccpb::event::EventType;
use std::time::{Duration, Instant};

/// If the key was last changed at this revision then this, else read it: the API server's shape.
fn guarded(key: &str, mod_revision: i64, then: Request) -> TxnRequest {
    TxnRequest {
        compare: vec![Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Mod.into(),
            key: key.to_string().into(),
            target_union: Some(TargetUnion::ModRevision(mod_revision)),
            ..Compare::default()
        }],
        success: vec![op(then)],
        failure: vec![op(Request::RequestRange(range_of(key.to_string())))],
    }
}

async fn write(client: &Client, key: &str, mod_revision: i64, value: Bytes) -> Result<TxnResponse> {
    let put = Request::RequestPut(put_of(key.to_string(), value));
    client.txn(&guarded(key, mod_revision, put), &call()).await.must(key)
}

async fn remove(client: &Client, key: &str, mod_revision: i64) -> Result<TxnResponse> {
    let request = DeleteRangeRequest { key: key.to_string().into(), ..Default::default() };
    let delete = Request::RequestDeleteRange(request);
    client.txn(&guarded(key, mod_revision, delete), &call()).await.must(key)
}

/// The record that a failed guard was answered with: revision of its last change, value.
fn found(answer: &TxnResponse) -> Option<(i64, Bytes)> {
    match answer.responses.first().and_then(|response| response.response.clone()) {
        Some(Response::ResponseRange(range)) => {
            range.kvs.first().map(|kv| (kv.mod_revision, kv.value.clone()))
        }
        _ => None,
    }
}

pub(crate) async fn uc_151_requests_of_the_api_server(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&["--watch-progress-notify-interval=1s"]).await?;
    let leader = Call::default().with("hasleader", "true");
    let mut stream = client.watch(&leader).await.must("watch")?;
    let create = WatchCreateRequest {
        prev_kv: true,
        progress_notify: true,
        fragment: true,
        ..watch_prefix("/registry/", 1)
    };
    stream.create(create).must("create")?;

    let key = "/registry/pods/default/a";
    let created = write(&client, key, 0, "1".into()).await?;
    let first = revision(created.header);
    ensure!(created.succeeded && first == 2, "create: {created:?}");
    let again = write(&client, key, 0, "2".into()).await?;
    ensure!(!again.succeeded && revision(again.header) == 2, "create again: {again:?}");
    ensure!(found(&again) == Some((2, "1".into())), "create again: {again:?}");
    let updated = write(&client, key, first, "2".into()).await?;
    ensure!(updated.succeeded && revision(updated.header) == 3, "update: {updated:?}");
    let stale = write(&client, key, first, "3".into()).await?;
    ensure!(!stale.succeeded && found(&stale) == Some((3, "2".into())), "stale: {stale:?}");
    let stale = remove(&client, key, first).await?;
    ensure!(!stale.succeeded && found(&stale) == Some((3, "2".into())), "stale: {stale:?}");
    let removed = remove(&client, key, 3).await?;
    ensure!(removed.succeeded && revision(removed.header) == 4, "delete: {removed:?}");

    let mut events = Vec::new();
    let mut progress = 0;
    while events.len() < 3 || progress < 4 {
        let answer = next(&mut stream).await?;
        if answer.events.is_empty() && !answer.created {
            progress = revision(answer.header);
        }
        for event in answer.events {
            let previous = event.prev_kv.as_ref().map(|kv| kv.value.clone());
            events.push((event.r#type(), event.kv.unwrap_or_default().mod_revision, previous));
        }
    }
    let expected = [
        (EventType::Put, 2, None),
        (EventType::Put, 3, Some(Bytes::from("1"))),
        (EventType::Delete, 4, Some(Bytes::from("2"))),
    ];
    ensure!(events == expected, "{events:?}");
    pages(&client).await?;
    compactor(&client).await
}

/// A list in pages of 500 at one revision, a count, and a stream of the same.
async fn pages(client: &Client) -> Result<()> {
    super::ask::load(client, 1200, |n| put_of(format!("/registry/pods/b/{n:04}"), "v")).await?;
    let prefix = "/registry/pods/b/";
    let mut request = RangeRequest { limit: 500, ..prefix_of(prefix) };
    let (mut keys, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let page = range(client, &request).await?;
        sizes.push((page.kvs.len(), page.count, page.more));
        keys.extend(page.kvs.into_iter().map(|kv| kv.key));
        let last = keys.last().context("an empty page")?;
        request.key = [last.as_ref(), b"\0"].concat().into();
        if request.revision == 0 {
            request.revision = revision(page.header);
            super::ask::put(client, "/registry/pods/b/0600x", "later").await?;
        }
        if !page.more {
            break;
        }
    }
    ensure!(sizes == [(500, 1200, true), (500, 700, true), (200, 200, false)], "{sizes:?}");
    ensure!(keys.is_sorted() && keys.len() == 1200, "{} keys", keys.len());
    let count = RangeRequest { count_only: true, ..prefix_of(prefix) };
    let counted = range(client, &count).await?;
    ensure!(counted.count == 1201 && counted.kvs.is_empty(), "count {}", counted.count);
    let mut chunks = client.range_stream(&prefix_of(prefix), &call()).await.must("stream")?;
    let mut streamed = 0;
    while let Some(chunk) = chunks.next().await {
        streamed += chunk.must("chunk")?.range_response.unwrap_or_default().kvs.len();
    }
    ensure!(streamed == 1201, "{streamed} keys are streamed");
    Ok(())
}

/// Two API servers compete to compact: one wins by the version of the key.
async fn compactor(client: &Client) -> Result<()> {
    let key = "compact_rev_key";
    let attempt = async |version: i64, value: &str| {
        let request = TxnRequest {
            compare: vec![Compare {
                result: CompareResult::Equal.into(),
                target: CompareTarget::Version.into(),
                key: key.into(),
                target_union: Some(TargetUnion::Version(version)),
                ..Compare::default()
            }],
            success: vec![op(Request::RequestPut(put_of(key, value.to_string())))],
            failure: vec![op(Request::RequestRange(range_of(key)))],
        };
        client.txn(&request, &call()).await.must(key)
    };
    let won = attempt(0, "0").await?;
    ensure!(won.succeeded, "the first attempt: {won:?}");
    let lost = attempt(0, "0").await?;
    ensure!(!lost.succeeded, "the second attempt: {lost:?}");
    let head = revision(won.header);
    compact(client, head).await?;
    let request = RangeRequest { revision: head - 1, ..range_of(key) };
    let answer = client.range(&request, &call()).await;
    let text = "etcdserver: mvcc: required revision has been compacted";
    super::ask::refused("a compacted read", answer, client::Code::OUT_OF_RANGE, text)
}

/// A slow card (20 ms a sync), 10 lease renewals and 5 pods a second, compaction: scaled to 15 s.
pub(crate) async fn uc_149_a_small_machine_is_enough(place: &Place) -> Result<()> {
    let (disk, point) = mount(place)?;
    disk.image().sync_delay_ms = 20;
    let data = point.join("data");
    let mut server = place.server_on(&data, &[])?;
    let client = start(&mut server).await?;
    let (begin, spent) = (Instant::now(), processor_time(&server)?);
    let mut live = 0;
    for tick in 0_u64..150 {
        let node = format!("/registry/leases/kube-node-lease/node-{:03}", tick % 100);
        renew(&client, node, vec![b'l'; 500]).await?;
        if tick % 2 == 0 {
            let pod = format!("/registry/pods/default/pod-{:03}", tick / 2);
            renew(&client, pod, vec![b'p'; 3000]).await?;
            let old = format!("/registry/pods/default/pod-{:03}", (tick / 2).saturating_sub(20));
            super::ask::delete(&client, &old).await?;
        }
        if tick % 50 == 49 {
            let head = super::ask::head(&client).await?;
            compact(&client, head).await?;
            let answer = range(&client, &prefix_of("/registry/")).await?;
            live = answer.kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
        }
        let next = Duration::from_millis(100) * u32::try_from(tick + 1)?;
        let left = next.saturating_sub(begin.elapsed());
        pause(u64::try_from(left.as_millis())?).await;
    }
    let share = (processor_time(&server)? - spent).as_secs_f64() / begin.elapsed().as_secs_f64();
    ensure!(share < 0.2, "{:.0} % of a processor", share * 100.0);
    let peak = resident_peak(&server)?;
    ensure!(peak < 150 << 20, "{} MiB resident", peak >> 20);
    let status = client.status(&call()).await.must("status")?;
    let used = status.db_size_in_use;
    ensure!(used < 3 * i64::try_from(live)? + (1 << 20), "{used} bytes in use, {live} live");
    let total: u64 = files(&data)?.iter().map(|(_, size)| size).sum();
    ensure!(total < 192 << 20, "{} MiB of files for {live} live bytes", total >> 20);
    Ok(())
}

async fn renew(client: &Client, key: String, value: Vec<u8>) -> Result<()> {
    let request = PutRequest { prev_kv: true, ..put_of(key, value) };
    client.put(&request, &call()).await.must("renew").map(|_| ())
}
