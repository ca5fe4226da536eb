//! SIGKILL to the first linearizable read.

use std::time::Duration;

use anyhow::Result;

use super::RowContext;
use super::unary::{fill, nth_put};
use crate::server::Server;
use crate::window::{Measure, drain, float};

/// Keys of the small data set.
const KEYS: usize = 1_000;
/// Restarts per round; each is one sample.
const SAMPLES: u32 = 3;

pub(super) async fn small(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let mut server = context.start().await?;
    fill(&server, KEYS, nth_put).await?;
    Ok(vec![measure(context, &mut server, "restart-small").await?])
}

/// Kills and restarts a few times; the median is the line's p50, the slowest its p99.
pub(super) async fn measure(
    context: RowContext<'_>,
    server: &mut Server,
    line: &str,
) -> Result<Measure> {
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        drain(server, context.options.window()).await?;
        samples.push(server.kill_and_restart(context.options).await?);
    }
    samples.sort();
    let after = server.counters()?;
    let micros = |took: Duration| float(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    Ok(Measure {
        line: line.to_owned(),
        ops: f64::from(SAMPLES),
        p50_micros: micros(samples[samples.len() / 2]),
        p99_micros: micros(samples[samples.len() - 1]),
        p999_micros: micros(samples[samples.len() - 1]),
        rss_bytes: float(after.rss_bytes),
        anon_bytes: float(after.anon_bytes),
        peak_bytes: float(after.peak_bytes),
        ..Measure::default()
    })
}
