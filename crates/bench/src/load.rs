//! Streams under load: each sends a request, waits for its answer, and records how long it took.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use client::{Call, Conn, Prepared};
use hdrhistogram::Histogram;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::requests::Random;
use crate::server::Server;

/// Longest latency that is told apart, in microseconds.
const LATENCY_MICROS_MAX: u64 = 120_000_000;

/// How many clients: connections, and streams on each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) connections: usize,
    pub(crate) streams: usize,
}

impl Shape {
    pub(crate) const THOUSAND: Shape = Shape { connections: 100, streams: 10 };
    pub(crate) const FIFTY: Shape = Shape { connections: 50, streams: 1 };
    pub(crate) const ONE: Shape = Shape { connections: 1, streams: 1 };
}

/// What streams record; shared by all of a window.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Held for one increment; all streams run on one thread.
    latencies: Mutex<Histogram<u64>>,
    /// Requests that were answered, from the first one on.
    answered: AtomicU64,
    failed: AtomicU64,
    last_failure: Mutex<Option<client::Status>>,
    is_over: AtomicBool,
}

impl Recorder {
    pub(crate) fn new() -> Arc<Recorder> {
        let latencies =
            Histogram::new_with_bounds(1, LATENCY_MICROS_MAX, 3).expect("the bounds are in order");
        Arc::new(Recorder {
            latencies: Mutex::new(latencies),
            answered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            last_failure: Mutex::new(None),
            is_over: AtomicBool::new(false),
        })
    }

    /// Counts an answer that took this long.
    pub(crate) fn answered(&self, took: Duration) {
        self.answered_many(took, 1);
    }

    /// Counts so many at once: events of one watch answer.
    pub(crate) fn answered_many(&self, took: Duration, count: u64) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.latencies().saturating_record_n(micros.max(1), count);
        self.answered.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, status: client::Status) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().expect("no holder panics") = Some(status);
    }

    /// Forgets the latencies so far: the window begins.
    pub(crate) fn begin(&self) {
        self.latencies().reset();
    }

    /// Ends the load.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn latencies(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.latencies.lock().expect("no holder panics")
    }

    /// Answers and failures since the start.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.answered.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    pub(crate) fn last_failure(&self) -> Option<client::Status> {
        self.last_failure.lock().expect("no holder panics").clone()
    }
}

/// Where a stream's requests come from, and where its answers go.
pub(crate) trait Source: Send + 'static {
    /// The next framed request.
    fn next(&mut self) -> Bytes;

    /// Looks at the answer.
    fn answered(&mut self, answer: Bytes) {
        drop(answer);
    }
}

/// Requests out of a pool, in random order.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    requests: Arc<[Bytes]>,
    random: Random,
}

impl Pool {
    pub(crate) fn new(requests: &Arc<[Bytes]>, stream: usize) -> Pool {
        let seed = u64::try_from(stream).unwrap_or(0) + 1;
        Pool { requests: Arc::clone(requests), random: Random::new(seed) }
    }
}

impl Source for Pool {
    fn next(&mut self) -> Bytes {
        self.requests[self.random.index(self.requests.len())].clone()
    }
}

/// Requests of a list, each once, shared by all streams: the load of a data set.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    next: Arc<AtomicU64>,
    make: fn(usize) -> Bytes,
}

impl Once {
    pub(crate) fn new(make: fn(usize) -> Bytes) -> Once {
        Once { next: Arc::new(AtomicU64::new(0)), make }
    }
}

impl Source for Once {
    fn next(&mut self) -> Bytes {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (self.make)(usize::try_from(number).unwrap_or(0))
    }
}

/// When requests are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pacing {
    /// As soon as the last one was answered.
    Closed,
    /// So many a second, whatever the answers do; latency counts from the intended start.
    Open(f64),
    /// Closed, until so many were sent in all.
    Count(u64),
}

/// Starts the streams. They run until the recorder is told to end.
pub(crate) async fn start<S: Source>(
    server: &Server,
    path: &str,
    shape: Shape,
    pacing: Pacing,
    recorder: &Arc<Recorder>,
    source: impl Fn(usize) -> S,
) -> Result<JoinSet<()>> {
    let conns = server.connections(shape.connections).await.context("connect for the load")?;
    let mut streams = JoinSet::new();
    let gate = Arc::new(Gate::new(pacing));
    for (number, conn) in conns.iter().enumerate() {
        let prepared = conn.prepare(path, &Call::default())?;
        for stream in 0..shape.streams {
            let stream = Stream {
                conn: conn.clone(),
                prepared: prepared.clone(),
                source: source(number * shape.streams + stream),
                recorder: Arc::clone(recorder),
                gate: Arc::clone(&gate),
            };
            streams.spawn(stream.run());
        }
    }
    if let Pacing::Open(rate) = pacing {
        streams.spawn(dispatch(Arc::clone(&gate), Arc::clone(recorder), rate));
    }
    Ok(streams)
}

/// What lets a stream send.
#[derive(Debug)]
struct Gate {
    pacing: Pacing,
    /// Requests still to send, where they are counted.
    left: AtomicU64,
    /// Intended starts that no stream has taken; one permit each.
    due: Mutex<VecDeque<Instant>>,
    permits: Semaphore,
}

impl Gate {
    fn new(pacing: Pacing) -> Gate {
        let left = match pacing {
            Pacing::Count(count) => count,
            Pacing::Closed | Pacing::Open(_) => 0,
        };
        Gate {
            pacing,
            left: AtomicU64::new(left),
            due: Mutex::default(),
            permits: Semaphore::new(0),
        }
    }

    /// The intended start of the next request; `None` where there is no next.
    async fn pass(&self) -> Option<Instant> {
        match self.pacing {
            Pacing::Closed => Some(Instant::now()),
            Pacing::Count(_) => {
                let take = |left: u64| left.checked_sub(1);
                let took = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
                took.ok().map(|_| Instant::now())
            }
            Pacing::Open(_) => {
                self.permits.acquire().await.ok()?.forget();
                self.due.lock().expect("no holder panics").pop_front()
            }
        }
    }
}

/// Releases requests at their intended starts. It spins for the last millisecond, which timers
/// do not resolve: this process has a core of its own.
async fn dispatch(gate: Arc<Gate>, recorder: Arc<Recorder>, rate: f64) {
    let start = Instant::now();
    let mut sent: u32 = 0;
    while !recorder.is_over() {
        let due = start + Duration::from_secs_f64(f64::from(sent) / rate);
        let now = Instant::now();
        if due <= now {
            gate.due.lock().expect("no holder panics").push_back(due);
            gate.permits.add_permits(1);
            sent += 1;
        } else if due - now > Duration::from_millis(3) {
            tokio::time::sleep(due - now - Duration::from_millis(2)).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
    gate.permits.close();
}

struct Stream<S> {
    conn: Conn,
    prepared: Prepared,
    source: S,
    recorder: Arc<Recorder>,
    gate: Arc<Gate>,
}

impl<S: Source> Stream<S> {
    async fn run(mut self) {
        while !self.recorder.is_over() {
            let Some(intended) = self.gate.pass().await else { return };
            let request = self.source.next();
            match self.conn.unary(&self.prepared, request).await {
                Ok(answer) => {
                    self.source.answered(answer);
                    self.recorder.answered(intended.elapsed());
                }
                Err(status) => {
                    self.recorder.failed(status);
                    // A server that refuses everything must not make this loop spin.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }
}
