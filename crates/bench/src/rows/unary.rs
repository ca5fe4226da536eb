//! Rows of one kind of unary call.

use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use client::frame;
use proto::etcdserverpb::RangeRequest;

use super::RowContext;
use crate::load::{self, Once, Pacing, Pool, Recorder, Shape};
use crate::requests::{self, PUT, RANGE, TXN, VALUE_BYTES};
use crate::server::Server;
use crate::window::{Measure, Window, drain};

/// Keys that requests are spread over.
const KEYS: usize = 10_000;
/// Keys of one list.
const LIST_KEYS: usize = 500;

pub(super) async fn put(context: RowContext<'_>, line: &str, shape: Shape) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    let pool = requests::puts("bench", KEYS, VALUE_BYTES);
    measure(context, &server, line, PUT, shape, pool).await
}

pub(super) async fn txn(context: RowContext<'_>, line: &str, shape: Shape) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    fill(&server, KEYS, nth_put).await?;
    let pool = (0..KEYS)
        .map(|number| {
            let value = requests::value(number, VALUE_BYTES);
            requests::txn(requests::key("bench", number), value)
        })
        .collect();
    measure(context, &server, line, TXN, shape, pool).await
}

pub(super) async fn range(
    context: RowContext<'_>,
    line: &str,
    shape: Shape,
) -> Result<Vec<Measure>> {
    read(context, line, shape, false).await
}

pub(super) async fn serializable(
    context: RowContext<'_>,
    line: &str,
    shape: Shape,
) -> Result<Vec<Measure>> {
    read(context, line, shape, true).await
}

async fn read(
    context: RowContext<'_>,
    line: &str,
    shape: Shape,
    is_serializable: bool,
) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    fill(&server, KEYS, nth_put).await?;
    let pool = (0..KEYS)
        .map(|number| requests::get(requests::key("bench", number), is_serializable))
        .collect();
    measure(context, &server, line, RANGE, shape, pool).await
}

pub(super) async fn list(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    fill(&server, LIST_KEYS, nth_put).await?;
    let request = frame::encode(&RangeRequest {
        key: "/registry/bench/".into(),
        range_end: requests::prefix_end("/registry/bench/"),
        limit: i64::try_from(LIST_KEYS)?,
        ..RangeRequest::default()
    });
    let shape = Shape { connections: 10, streams: 5 };
    measure(context, &server, "list-500", RANGE, shape, vec![request]).await
}

/// Runs requests of a pool for one window.
pub(super) async fn measure(
    context: RowContext<'_>,
    server: &Server,
    line: &str,
    path: &str,
    shape: Shape,
    pool: Vec<Bytes>,
) -> Result<Vec<Measure>> {
    let length = context.options.window();
    drain(server, length).await?;
    let pool: Arc<[Bytes]> = pool.into();
    let recorder = Recorder::new();
    let pacing = if context.rate > 0.0 { Pacing::Open(context.rate) } else { Pacing::Closed };
    let window = Window::open(server, &recorder)?;
    let streams =
        load::start(server, path, shape, pacing, &recorder, |stream| Pool::new(&pool, stream));
    Ok(vec![window.run(line, server, length, streams.await?).await?])
}

/// The framed put of the key of this number.
pub(super) fn nth_put(number: usize) -> Bytes {
    requests::put(requests::key("bench", number), requests::value(number, VALUE_BYTES))
}

/// Writes so many keys.
pub(super) async fn fill(server: &Server, keys: usize, make: fn(usize) -> Bytes) -> Result<()> {
    let recorder = Recorder::new();
    let once = Once::new(make);
    let pacing = Pacing::Count(u64::try_from(keys)?);
    let shape = Shape { connections: 20, streams: 10 };
    let mut streams = load::start(server, PUT, shape, pacing, &recorder, |_| once.clone()).await?;
    while streams.join_next().await.is_some() {}
    if let Some(status) = recorder.last_failure() {
        anyhow::bail!("a key could not be written: {status}");
    }
    Ok(())
}
