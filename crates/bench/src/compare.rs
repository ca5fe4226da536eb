//! Runs rows on one or two servers, in turns, so that both meet the same machine.

use anyhow::{Context, Result};

use crate::cli::Options;
use crate::report::Report;
use crate::rows::{Row, RowContext};
use crate::say_error;
use crate::window::Measure;

/// Part of the slower server's maximum that both get where the offered load is equal.
const EQUAL_LOAD_PART: f64 = 0.6;

/// Runs the rows; in each round, each row on every server.
pub(crate) fn run(servers: &[String], rows: &[&'static Row], options: &Options) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::new(servers, options);
    for row in rows {
        let mut rate = options.rate;
        if row.needs_rate && rate == 0.0 {
            rate = runtime.block_on(equal_rate(row, servers, options))?;
            say_error(&format!("{}: {rate:.0} requests/s are offered to each server", row.name));
        }
        for round in 0..options.rounds {
            for turn in 0..servers.len() {
                // Who begins alternates as well.
                let index = (turn + round) % servers.len();
                let context = RowContext { command: &servers[index], options, rate };
                let measures = runtime
                    .block_on((row.run)(context))
                    .with_context(|| format!("row {} on {}", row.name, servers[index]))?;
                for measure in measures {
                    say_error(&progress(row, index, round, &measure));
                    report.add(index, measure);
                }
            }
        }
    }
    Ok(report)
}

/// The rate that every server can bear.
async fn equal_rate(row: &Row, servers: &[String], options: &Options) -> Result<f64> {
    let mut slowest = f64::INFINITY;
    for command in servers {
        let context = RowContext { command, options, rate: 0.0 };
        let maximum = crate::rows::mixed::maximum(context)
            .await
            .with_context(|| format!("maximum for row {} on {command}", row.name))?;
        slowest = slowest.min(maximum);
    }
    Ok(slowest * EQUAL_LOAD_PART)
}

fn progress(row: &Row, index: usize, round: usize, measure: &Measure) -> String {
    let letter = ["A", "B"][index];
    format!(
        "{} {letter}{}: {} {:.0}/s p50 {:.0} p99 {:.0} us, server {:.2} us/op, client {:.2} us/op, \
         {:.0} B/op, {:.0} failed",
        row.name,
        round + 1,
        measure.line,
        measure.ops_per_second,
        measure.p50_micros,
        measure.p99_micros,
        measure.server_micros_per_op,
        measure.client_micros_per_op,
        measure.written_bytes_per_op,
        measure.failed,
    )
}
