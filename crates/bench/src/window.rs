//! One stretch of load, and what it cost the server until the last of it was flushed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::load::Recorder;
use crate::procfs::{self, Counters};
use crate::server::Server;

/// Longest wait for flush and compaction to drain.
const DRAIN_MAX: Duration = Duration::from_secs(60);
/// How often the counters are read while they drain.
const DRAIN_STEP: Duration = Duration::from_millis(100);

/// What one window has measured. All values are numbers of one server in one round.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Measure {
    /// Name of the line in the report.
    pub(crate) line: String,
    pub(crate) ops: f64,
    pub(crate) failed: f64,
    pub(crate) ops_per_second: f64,
    pub(crate) p50_micros: f64,
    pub(crate) p99_micros: f64,
    pub(crate) p999_micros: f64,
    /// The server's user and system time, until it was quiet.
    pub(crate) server_micros_per_op: f64,
    /// This process's time: what the measurement itself costs.
    pub(crate) client_micros_per_op: f64,
    /// Sent to the disk, until it was quiet.
    pub(crate) written_bytes_per_op: f64,
    pub(crate) rss_bytes: f64,
    pub(crate) anon_bytes: f64,
    pub(crate) peak_bytes: f64,
}

/// An open window: counters at its start.
#[derive(Debug)]
pub(crate) struct Window {
    recorder: Arc<Recorder>,
    /// Load of another kind at the same time; its requests share the cost.
    beside: Vec<Arc<Recorder>>,
    before: Counters,
    client_before: u64,
}

impl Window {
    /// Opens a window before its load starts.
    pub(crate) fn open(server: &Server, recorder: &Arc<Recorder>) -> Result<Window> {
        Ok(Window {
            recorder: Arc::clone(recorder),
            beside: Vec::new(),
            before: server.counters()?,
            client_before: procfs::cpu_micros(std::process::id())?,
        })
    }

    /// Adds a load that runs at the same time, recorded by itself.
    pub(crate) fn beside(mut self, recorder: &Arc<Recorder>) -> Window {
        self.beside.push(Arc::clone(recorder));
        self
    }

    /// Lets the load run for `length` after a warm-up of a tenth of it, ends it, waits until the
    /// server is quiet, and measures. CPU and bytes cover all requests with the warm-up's.
    pub(crate) async fn run(
        self,
        line: &str,
        server: &Server,
        length: Duration,
        load: JoinSet<()>,
    ) -> Result<Measure> {
        tokio::time::sleep((length / 10).min(Duration::from_secs(2))).await;
        self.recorder.begin();
        self.beside.iter().for_each(|beside| beside.begin());
        let (warm, start) = (self.recorder.counts().0, Instant::now());
        tokio::time::sleep(length).await;
        let rate = per_second(self.recorder.counts().0 - warm, start.elapsed());
        self.finish(line, server, rate, length, load).await
    }

    /// As [`Window::run`], for a load that ends by itself.
    pub(crate) async fn run_to_end(
        self,
        line: &str,
        server: &Server,
        length: Duration,
        mut load: JoinSet<()>,
    ) -> Result<Measure> {
        let start = Instant::now();
        while load.join_next().await.is_some() {}
        let rate = per_second(self.recorder.counts().0, start.elapsed());
        self.finish(line, server, rate, length, load).await
    }

    async fn finish(
        self,
        line: &str,
        server: &Server,
        ops_per_second: f64,
        length: Duration,
        mut load: JoinSet<()>,
    ) -> Result<Measure> {
        self.recorder.end();
        self.beside.iter().for_each(|beside| beside.end());
        let client_after = procfs::cpu_micros(std::process::id())?;
        let patience = Duration::from_secs(10);
        while let Ok(Some(_)) = tokio::time::timeout(patience, load.join_next()).await {}
        load.abort_all();
        let (answered, failed) = self.recorder.counts();
        let all = answered + self.beside.iter().map(|beside| beside.counts().0).sum::<u64>();
        if answered == 0 {
            let why = self.recorder.last_failure();
            bail!("{line}: no request was answered; last failure: {why:?}");
        }
        let after = drain(server, length).await?;
        let latencies = self.recorder.latencies();
        let quantile = |q: f64| float(latencies.value_at_quantile(q));
        let per_op = |after: u64, before: u64| float(after - before) / float(all);
        Ok(Measure {
            line: line.to_owned(),
            ops: float(answered),
            failed: float(failed),
            ops_per_second,
            p50_micros: quantile(0.5),
            p99_micros: quantile(0.99),
            p999_micros: quantile(0.999),
            server_micros_per_op: per_op(after.cpu_micros, self.before.cpu_micros),
            client_micros_per_op: per_op(client_after, self.client_before),
            written_bytes_per_op: per_op(after.written_bytes, self.before.written_bytes),
            rss_bytes: float(after.rss_bytes),
            anon_bytes: float(after.anon_bytes),
            peak_bytes: float(after.peak_bytes),
        })
    }
}

/// Rate and latencies of a load that ran beside another for a window of this length.
pub(crate) fn side_measure(line: &str, recorder: &Recorder, length: Duration) -> Measure {
    let latencies = recorder.latencies();
    let quantile = |q: f64| float(latencies.value_at_quantile(q));
    let (answered, failed) = recorder.counts();
    Measure {
        line: line.to_owned(),
        ops: float(answered),
        failed: float(failed),
        ops_per_second: per_second(latencies.len(), length),
        p50_micros: quantile(0.5),
        p99_micros: quantile(0.99),
        p999_micros: quantile(0.999),
        ..Measure::default()
    }
}

/// Waits until the server writes no more: flush and compaction of the window are done.
pub(crate) async fn drain(server: &Server, length: Duration) -> Result<Counters> {
    // Long enough for the timers of write-behind; shorter only where the run is a smoke test.
    let quiet_needed = (length / 10).clamp(Duration::from_millis(300), Duration::from_secs(2));
    let deadline = Instant::now() + DRAIN_MAX;
    let mut last = server.counters()?;
    let mut quiet_since = Instant::now();
    loop {
        tokio::time::sleep(DRAIN_STEP).await;
        let next = server.counters()?;
        if next.written_bytes != last.written_bytes {
            quiet_since = Instant::now();
        }
        last = next;
        if quiet_since.elapsed() >= quiet_needed || Instant::now() >= deadline {
            return Ok(last);
        }
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    float(count) / time.as_secs_f64()
}

/// A counter as a number to divide; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counters of a run are far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
