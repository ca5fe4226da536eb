//! Fan-out: 100 streams with 100 watchers each on one key; counted per event delivered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use client::{Call, Client, Config, Streaming};
use proto::etcdserverpb::{PutRequest, WatchCreateRequest, WatchResponse};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::RowContext;
use crate::load::Recorder;
use crate::requests;
use crate::window::{Measure, Window, drain};

const STREAMS: u64 = 100;
const WATCHERS: u64 = 100;
/// Puts whose events are not all delivered yet.
const PUTS_AHEAD: u64 = 4;
const KEY: &[u8] = b"/registry/watched/key";
const VALUE_BYTES: usize = 128;

/// What the writer and the streams share.
#[derive(Debug)]
struct Shared {
    recorder: Arc<Recorder>,
    /// When each put was sent.
    starts: Mutex<Vec<Instant>>,
    delivered: AtomicU64,
    /// Wakes the writer.
    progress: Notify,
}

pub(super) async fn run(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    let length = context.options.window();
    let shared = Arc::new(Shared {
        recorder: Recorder::new(),
        starts: Mutex::default(),
        delivered: AtomicU64::new(0),
        progress: Notify::new(),
    });
    let mut answers = Vec::new();
    let mut held = Vec::new();
    for _ in 0..STREAMS {
        let client = Client::new(Config::new([server.address()]))?;
        let mut stream = client.watch(&Call::default()).await?;
        for _ in 0..WATCHERS {
            stream.create(WatchCreateRequest { key: KEY.into(), ..Default::default() })?;
        }
        for _ in 0..WATCHERS {
            let answer = stream.next().await.context("the stream ended")??;
            ensure!(answer.created, "a watcher was not created: {}", answer.cancel_reason);
        }
        let (sender, stream) = stream.split();
        // Dropping the sender would reset the stream.
        held.push(sender);
        answers.push(stream);
    }
    drain(&server, length).await?;
    let window = Window::open(&server, &shared.recorder)?;
    let mut tasks = JoinSet::new();
    for stream in answers {
        tasks.spawn(receive(stream, Arc::clone(&shared)));
    }
    tasks.spawn(write(server.client()?, Arc::clone(&shared)));
    let measure = window.run("watch-100x100", &server, length, tasks).await?;
    drop(held);
    Ok(vec![measure])
}

/// Puts the key again and again, a few puts ahead of the slowest stream.
async fn write(client: Client, shared: Arc<Shared>) {
    let mut sent = 0;
    let value = requests::value(0, VALUE_BYTES);
    while !shared.recorder.is_over() {
        let complete = shared.delivered.load(Ordering::Relaxed) / (STREAMS * WATCHERS);
        if sent >= complete + PUTS_AHEAD {
            // Bounded, so that the end of the window is seen.
            let wait = shared.progress.notified();
            let _ = tokio::time::timeout(Duration::from_millis(50), wait).await;
            continue;
        }
        shared.starts.lock().expect("no holder panics").push(Instant::now());
        let request = PutRequest { key: KEY.into(), value: value.clone(), ..PutRequest::default() };
        if let Err(status) = client.put(&request, &Call::default()).await {
            return shared.recorder.failed(status);
        }
        sent += 1;
    }
}

async fn receive(mut answers: Streaming<WatchResponse>, shared: Arc<Shared>) {
    let mut events = 0;
    while !shared.recorder.is_over() {
        // Bounded, so that the end of the window is seen.
        let wait = Duration::from_millis(200);
        let answer = match tokio::time::timeout(wait, answers.next_raw()).await {
            Err(_) => continue,
            Ok(Some(Ok(answer))) => answer,
            Ok(Some(Err(status))) => return shared.recorder.failed(status),
            Ok(None) => return,
        };
        let before = events / WATCHERS;
        let count = count_events(&answer);
        events += count;
        let all = shared.delivered.fetch_add(count, Ordering::Relaxed) + count;
        for put in before..events / WATCHERS {
            let index = usize::try_from(put).expect("puts of a window");
            let start = shared.starts.lock().expect("no holder panics")[index];
            shared.recorder.answered_many(start.elapsed(), WATCHERS);
        }
        if all % (STREAMS * WATCHERS) < count {
            shared.progress.notify_one();
        }
    }
}

/// Counts the events of an encoded `WatchResponse` without decoding them.
pub(crate) fn count_events(message: &Bytes) -> u64 {
    const EVENTS: u64 = 11;
    let mut rest = &message[..];
    let mut events = 0;
    while let Some(tag) = varint(&mut rest) {
        let Some(value) = varint(&mut rest) else { break };
        if tag & 7 == 2 {
            events += u64::from(tag >> 3 == EVENTS);
            let skip = usize::try_from(value).unwrap_or(usize::MAX).min(rest.len());
            rest = &rest[skip..];
        }
    }
    events
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
