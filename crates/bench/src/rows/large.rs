//! A large data set: load, count, overwrite, puts while quiet and while compacting, restart.

use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use client::{Call, frame};
use proto::etcdserverpb::{CompactionRequest, RangeRequest};

use super::{RowContext, restart, unary};
use crate::load::{self, Once, Pacing, Pool, Recorder, Shape};
use crate::requests::{self, PUT, RANGE};
use crate::server::Server;
use crate::window::{Measure, Window, drain};

/// With a key of 44 bytes a record of about 544.
const VALUE_BYTES: usize = 500;
/// Keys of the puts beside a compaction.
const PUT_KEYS: usize = 10_000;

pub(super) async fn run(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let mut server = context.start().await?;
    let mut measures = vec![load_all(context, &server, "large: load").await?];
    let count = frame::encode(&RangeRequest {
        key: "/registry/".into(),
        range_end: requests::prefix_end("/registry/"),
        count_only: true,
        ..RangeRequest::default()
    });
    let closed = RowContext { rate: 0.0, ..context };
    let shape = Shape { connections: 10, streams: 1 };
    let line = "large: count";
    measures.extend(unary::measure(closed, &server, line, RANGE, shape, vec![count]).await?);
    measures.push(load_all(context, &server, "large: overwrite").await?);
    measures.push(puts(context, &server, "large: put-50 quiet", false).await?);
    measures.push(puts(context, &server, "large: put-50 compacting", true).await?);
    measures.push(restart::measure(context, &mut server, "large: restart").await?);
    Ok(measures)
}

fn nth(number: usize) -> Bytes {
    requests::put(requests::key("large", number), requests::value(number, VALUE_BYTES))
}

async fn load_all(context: RowContext<'_>, server: &Server, line: &str) -> Result<Measure> {
    let length = context.options.window();
    drain(server, length).await?;
    let recorder = Recorder::new();
    let once = Once::new(nth);
    let window = Window::open(server, &recorder)?;
    let pacing = Pacing::Count(u64::try_from(context.options.keys)?);
    let streams =
        load::start(server, PUT, Shape::THOUSAND, pacing, &recorder, |_| once.clone()).await?;
    window.run_to_end(line, server, length, streams).await
}

/// Puts of 50 clients, where asked while everything older is compacted.
async fn puts(
    context: RowContext<'_>,
    server: &Server,
    line: &str,
    compacts: bool,
) -> Result<Measure> {
    let length = context.options.window();
    drain(server, length).await?;
    let keys = PUT_KEYS.min(context.options.keys);
    let pool: Arc<[Bytes]> = requests::puts("large", keys, VALUE_BYTES).into();
    let recorder = Recorder::new();
    let window = Window::open(server, &recorder)?;
    let make = |stream| Pool::new(&pool, stream);
    let mut streams =
        load::start(server, PUT, Shape::FIFTY, Pacing::Closed, &recorder, make).await?;
    if compacts {
        let client = server.client()?;
        let recorder = Arc::clone(&recorder);
        streams.spawn(async move {
            if let Err(status) = compact(&client).await {
                recorder.failed(status);
            }
        });
    }
    window.run(line, server, length, streams).await
}

async fn compact(client: &client::Client) -> Result<(), client::Status> {
    let request = RangeRequest { key: "head".into(), ..RangeRequest::default() };
    let head = client.range(&request, &Call::default()).await?;
    let revision = head.header.unwrap_or_default().revision;
    let request = CompactionRequest { revision, physical: false };
    client.compact(&request, &Call::default()).await?;
    Ok(())
}
