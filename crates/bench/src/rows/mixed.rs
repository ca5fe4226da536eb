//! Reads beside puts: how long does a read wait while others write?

use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;

use super::RowContext;
use super::unary::{fill, nth_put};
use crate::load::{self, Pacing, Pool, Recorder, Shape};
use crate::requests::{self, PUT, RANGE, VALUE_BYTES};
use crate::window::{Measure, Window, drain, side_measure};

/// Keys that requests are spread over.
const KEYS: usize = 10_000;
/// 200 writers.
const WRITERS: Shape = Shape { connections: 20, streams: 10 };
/// 10 readers.
const READERS: Shape = Shape { connections: 10, streams: 1 };
/// Readers of an open loop: enough streams that none waits for another.
const OPEN_READERS: Shape = Shape { connections: 10, streams: 20 };
/// Writers of an open loop.
const OPEN_WRITERS: Shape = Shape { connections: 20, streams: 50 };
/// Reads for each put where the rate is fixed.
const READ_PART: f64 = 0.1;

/// Puts a second at most: what `reads-under-writes` takes a part of.
pub(crate) async fn maximum(context: RowContext<'_>) -> Result<f64> {
    let server = context.start().await?;
    let pool: Arc<[Bytes]> = requests::puts("bench", KEYS, VALUE_BYTES).into();
    let recorder = Recorder::new();
    let window = Window::open(&server, &recorder)?;
    let make = |stream| Pool::new(&pool, stream);
    let streams = load::start(&server, PUT, WRITERS, Pacing::Closed, &recorder, make).await?;
    let length = context.options.window().min(std::time::Duration::from_secs(10));
    Ok(window.run("maximum", &server, length, streams).await?.ops_per_second)
}

/// Puts at the context's rate, reads at a tenth of it.
pub(super) async fn at_equal_load(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let pacing = (Pacing::Open(context.rate), Pacing::Open(context.rate * READ_PART));
    run(context, "reads-under-writes", (OPEN_WRITERS, OPEN_READERS), pacing).await
}

/// Puts and reads as fast as they are answered.
pub(super) async fn at_maximum(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let pacing = (Pacing::Closed, Pacing::Closed);
    run(context, "reads-at-maximum", (WRITERS, READERS), pacing).await
}

async fn run(
    context: RowContext<'_>,
    line: &str,
    (writers, readers): (Shape, Shape),
    (write_pacing, read_pacing): (Pacing, Pacing),
) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    let length = context.options.window();
    fill(&server, KEYS, nth_put).await?;
    drain(&server, length).await?;
    let puts: Arc<[Bytes]> = requests::puts("bench", KEYS, VALUE_BYTES).into();
    let gets: Arc<[Bytes]> =
        (0..KEYS).map(|number| requests::get(requests::key("bench", number), false)).collect();
    let (reads, writes) = (Recorder::new(), Recorder::new());
    let window = Window::open(&server, &reads)?.beside(&writes);
    let put = |stream| Pool::new(&puts, stream);
    let get = |stream| Pool::new(&gets, stream);
    let mut streams = load::start(&server, PUT, writers, write_pacing, &writes, put).await?;
    let mut readers = load::start(&server, RANGE, readers, read_pacing, &reads, get).await?;
    streams.spawn(async move { while readers.join_next().await.is_some() {} });
    let measure = window.run(line, &server, length, streams).await?;
    Ok(vec![measure, side_measure(&format!("{line}: puts"), &writes, length)])
}
