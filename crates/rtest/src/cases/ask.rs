//! Short forms of requests and of what is expected of their answers.

use anyhow::{Result, anyhow, bail, ensure};
use bytes::Bytes;
use client::{Call, Client, Code, Status, WatchStream};
use proto::etcdserverpb::{
    CompactionRequest, DeleteRangeRequest, PutRequest, RangeRequest, RangeResponse, RequestOp,
    ResponseHeader, WatchCreateRequest, WatchResponse, request_op::Request,
};
use std::cell::Cell;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

/// A call that fails rather than hangs.
pub(crate) fn call() -> Call {
    Call { timeout: Some(Duration::from_secs(20)), ..Call::default() }
}

/// An answer that has to be a good one.
pub(crate) trait Must<T> {
    /// The answer, or what was asked and how it failed.
    fn must(self, what: &str) -> Result<T>;
}

impl<T> Must<T> for Result<T, Status> {
    fn must(self, what: &str) -> Result<T> {
        self.map_err(|status| anyhow!("{what}: {status:?}"))
    }
}

/// Holds a refusal against its code and text.
pub(crate) fn refused<T: Debug>(
    what: &str,
    answer: Result<T, Status>,
    code: Code,
    text: &str,
) -> Result<()> {
    match answer {
        Err(status) if status.code == code && status.message == text => Ok(()),
        other => bail!("{what}: {other:?}, expected {} {text:?}", code.name()),
    }
}

/// The revision in a header.
pub(crate) fn revision(header: Option<ResponseHeader>) -> i64 {
    header.map_or(0, |header| header.revision)
}

pub(crate) fn put_of(key: impl Into<Bytes>, value: impl Into<Bytes>) -> PutRequest {
    PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() }
}

pub(crate) fn range_of(key: impl Into<Bytes>) -> RangeRequest {
    RangeRequest { key: key.into(), ..RangeRequest::default() }
}

/// A range over all keys with a prefix that ends in `/`.
pub(crate) fn prefix_of(prefix: &str) -> RangeRequest {
    RangeRequest { range_end: end_of(prefix), ..range_of(prefix.to_string()) }
}

/// The end of the range of keys with a prefix that ends in `/`.
pub(crate) fn end_of(prefix: &str) -> Bytes {
    let stem = prefix.strip_suffix('/').unwrap_or(prefix);
    format!("{stem}0").into()
}

pub(crate) async fn put(client: &Client, key: &str, value: impl Into<Bytes>) -> Result<i64> {
    let answer = client.put(&put_of(key.to_string(), value), &call()).await;
    Ok(revision(answer.must(&format!("put {key}"))?.header))
}

pub(crate) async fn get(client: &Client, key: &str) -> Result<Option<Bytes>> {
    let mut answer = client.range(&range_of(key.to_string()), &call()).await.must("get")?;
    Ok(answer.kvs.pop().map(|kv| kv.value))
}

pub(crate) async fn range(client: &Client, request: &RangeRequest) -> Result<RangeResponse> {
    client.range(request, &call()).await.must("range")
}

/// The revision of the keyspace.
pub(crate) async fn head(client: &Client) -> Result<i64> {
    Ok(revision(range(client, &range_of("head")).await?.header))
}

pub(crate) async fn delete(client: &Client, key: &str) -> Result<i64> {
    let request = DeleteRangeRequest { key: key.to_string().into(), ..Default::default() };
    Ok(revision(client.delete_range(&request, &call()).await.must("delete")?.header))
}

pub(crate) async fn delete_prefix(client: &Client, prefix: &str) -> Result<i64> {
    let request = DeleteRangeRequest {
        key: prefix.to_string().into(),
        range_end: end_of(prefix),
        ..Default::default()
    };
    Ok(revision(client.delete_range(&request, &call()).await.must("delete")?.header))
}

pub(crate) async fn compact(client: &Client, revision: i64) -> Result<()> {
    let request = CompactionRequest { revision, physical: true };
    client.compact(&request, &call()).await.must("compact").map(|_| ())
}

/// `count` puts, 64 under way at a time.
pub(crate) async fn load(
    client: &Client,
    count: u64,
    make: impl Fn(u64) -> PutRequest + 'static,
) -> Result<()> {
    let (next, make) = (Rc::new(Cell::new(0)), Rc::new(make));
    let mut writers = Vec::new();
    for _ in 0..64 {
        let (client, next, make) = (client.clone(), Rc::clone(&next), Rc::clone(&make));
        writers.push(tokio::task::spawn_local(async move {
            while next.get() < count {
                let n = next.replace(next.get() + 1);
                client.put(&make(n), &call()).await.must(&format!("put {n} of {count}"))?;
            }
            anyhow::Ok(())
        }));
    }
    for writer in writers {
        writer.await??;
    }
    Ok(())
}

pub(crate) fn op(request: Request) -> RequestOp {
    RequestOp { request: Some(request) }
}

/// A watcher of one key from a revision on.
pub(crate) fn watch_of(key: &str, start_revision: i64) -> WatchCreateRequest {
    WatchCreateRequest {
        key: key.to_string().into(),
        start_revision,
        ..WatchCreateRequest::default()
    }
}

/// A watcher of all keys with a prefix that ends in `/`, from a revision on.
pub(crate) fn watch_prefix(prefix: &str, start_revision: i64) -> WatchCreateRequest {
    WatchCreateRequest { range_end: end_of(prefix), ..watch_of(prefix, start_revision) }
}

/// A stream with this watcher on it.
pub(crate) async fn watch(client: &Client, create: WatchCreateRequest) -> Result<WatchStream> {
    let mut stream = client.watch(&Call::default()).await.must("watch")?;
    stream.create(create).must("create a watcher")?;
    let created = next(&mut stream).await?;
    ensure!(created.created, "the first answer is {created:?}");
    Ok(stream)
}

/// The next answer of a watch, which must come.
pub(crate) async fn next(stream: &mut WatchStream) -> Result<WatchResponse> {
    match tokio::time::timeout(Duration::from_secs(15), stream.next()).await {
        Err(_) => bail!("the watch says nothing for 15 s"),
        Ok(None) => bail!("the watch ended"),
        Ok(Some(answer)) => answer.must("watch"),
    }
}

/// The next answer of a watch, if it comes in time.
pub(crate) async fn next_within(
    stream: &mut WatchStream,
    patience: Duration,
) -> Result<Option<WatchResponse>> {
    match tokio::time::timeout(patience, stream.next()).await {
        Err(_) => Ok(None),
        Ok(None) => bail!("the watch ended"),
        Ok(Some(answer)) => answer.must("watch").map(Some),
    }
}

/// A pause between two looks at the server.
pub(crate) async fn pause(millis: u64) {
    crate::wait::pause(Duration::from_millis(millis)).await;
}
