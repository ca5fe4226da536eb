//! Ranges: streams of chunks, counts.

use super::ask::{
    Must, call, compact, head, load, op, prefix_of, put, put_of, range, refused, revision,
};
use super::place::Place;
use anyhow::{Result, bail, ensure};
use client::{Call, Client, Code, Config, Status};
use proto::etcdserverpb::range_request::{SortOrder, SortTarget};
use proto::etcdserverpb::{
    DeleteRangeRequest, RangeRequest, RangeResponse, TxnRequest, request_op::Request,
};
use std::cell::Cell;
use std::rc::Rc;

/// All chunks of a stream as one answer.
async fn merged(client: &Client, request: &RangeRequest) -> Result<RangeResponse, Status> {
    let mut chunks = client.range_stream(request, &call()).await?;
    let mut whole = RangeResponse::default();
    while let Some(chunk) = chunks.next().await {
        merge(&mut whole, chunk?.range_response.unwrap_or_default());
    }
    Ok(whole)
}

fn merge(whole: &mut RangeResponse, chunk: RangeResponse) {
    whole.kvs.extend(chunk.kvs);
    whole.header = chunk.header.or(whole.header.take());
    whole.count = whole.count.max(chunk.count);
    whole.more = chunk.more;
}

/// Compares a stream with the range at the stream's revision.
async fn same(client: &Client, request: &RangeRequest) -> Result<()> {
    let streamed = merged(client, request).await.must("range stream")?;
    let at = revision(streamed.header);
    let unary = range(client, &RangeRequest { revision: at, ..request.clone() }).await?;
    let what = format!("limit {}, keys_only {}", request.limit, request.keys_only);
    ensure!(streamed.kvs.len() == unary.kvs.len(), "{what}: {} keys", streamed.kvs.len());
    ensure!(streamed.kvs == unary.kvs, "{what}: the stream differs from the range at {at}");
    ensure!(streamed.count == unary.count, "{what}: count {}", streamed.count);
    ensure!(streamed.more == unary.more, "{what}: more is {}", streamed.more);
    Ok(())
}

/// 10 000 keys that are overwritten all the time.
pub(crate) async fn uc_131_a_range_stream_is_one_answer(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    load(&client, 10_000, |n| put_of(format!("k/{n:05}"), vec![b'v'; 300])).await?;
    let ended = Rc::new(Cell::new(false));
    let (writer, stop) = (client.clone(), Rc::clone(&ended));
    let work = tokio::task::spawn_local(async move {
        let mut n = 0;
        while !stop.get() {
            put(&writer, &format!("k/{:05}", n % 10_000), vec![b'w'; 300]).await?;
            n += 7;
        }
        anyhow::Ok(())
    });
    for _ in 0..5 {
        same(&client, &prefix_of("k/")).await?;
    }
    same(&client, &RangeRequest { limit: 10, ..prefix_of("k/") }).await?;
    same(&client, &RangeRequest { keys_only: true, ..prefix_of("k/") }).await?;
    same(&client, &RangeRequest { count_only: true, ..prefix_of("k/") }).await?;
    ended.set(true);
    work.await??;
    let by_value = RangeRequest {
        sort_order: SortOrder::Ascend.into(),
        sort_target: SortTarget::Value.into(),
        ..prefix_of("k/")
    };
    let filtered = RangeRequest { min_mod_revision: 5, ..prefix_of("k/") };
    for request in [by_value, filtered] {
        match merged(&client, &request).await {
            Err(status) if status.code == Code::UNIMPLEMENTED => {}
            other => bail!("not refused: {:?}", other.map(|answer| answer.count)),
        }
    }
    Ok(())
}

/// A slow reader, and a compaction of what it has not read yet.
pub(crate) async fn uc_131_a_compacted_range_stream_is_told_so(place: &Place) -> Result<()> {
    let (server, client) = place.serve(&[]).await?;
    load(&client, 4000, |n| put_of(format!("k/{n:04}"), vec![b'v'; 2500])).await?;
    let mut config = Config::new([server.endpoint()]);
    config.stream_window_bytes = 64 << 10;
    config.connection_window_bytes = 64 << 10;
    let slow = Client::new(config).must("client")?;
    let patient = Call::default();
    let mut chunks = slow.range_stream(&prefix_of("k/"), &patient).await.must("range stream")?;
    let mut whole = RangeResponse::default();
    let Some(first) = chunks.next().await else { bail!("no chunk") };
    merge(&mut whole, first.must("first chunk")?.range_response.unwrap_or_default());
    load(&client, 400, |n| put_of(format!("k/{:04}", n * 10), "new")).await?;
    compact(&client, head(&client).await?).await?;
    let refusal = loop {
        match chunks.next().await {
            Some(Ok(chunk)) => merge(&mut whole, chunk.range_response.unwrap_or_default()),
            Some(Err(status)) => break status,
            None => bail!("{} of 4000 keys, and no error", whole.kvs.len()),
        }
    };
    let is_old = whole.kvs.iter().all(|kv| kv.value.len() == 2500);
    ensure!(is_old, "the stream mixes revisions");
    let text = "etcdserver: mvcc: required revision has been compacted";
    refused("range stream", Err::<(), _>(refusal), Code::OUT_OF_RANGE, text)
}

/// 20 000 keys, half of them deleted: both counts are exact, at the head and before.
pub(crate) async fn uc_133_count_only_is_exact(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    for batch in 0..200 {
        let puts = (0..100).map(|n| put_of(format!("k/{:05}", batch * 100 + n), "v"));
        let success = puts.map(|put| op(Request::RequestPut(put))).collect();
        let request = TxnRequest { success, ..TxnRequest::default() };
        client.txn(&request, &call()).await.must("txn")?;
    }
    let before = head(&client).await?;
    for batch in 0..100 {
        let deletes = (0..100).map(|n| {
            let key = format!("k/{:05}", (batch * 100 + n) * 2);
            op(Request::RequestDeleteRange(DeleteRangeRequest {
                key: key.into(),
                ..Default::default()
            }))
        });
        let request = TxnRequest { success: deletes.collect(), ..TxnRequest::default() };
        client.txn(&request, &call()).await.must("txn")?;
    }
    for (at, expected) in [(0, 10_000), (before, 20_000)] {
        let request = RangeRequest { count_only: true, revision: at, ..prefix_of("k/") };
        let answer = range(&client, &request).await?;
        ensure!(answer.kvs.is_empty(), "keys are sent");
        ensure!(answer.count == expected, "count {} at {at}, expected {expected}", answer.count);
    }
    Ok(())
}
