//! The result: medians of all rounds, side by side, as a table and as JSON.

use serde::Serialize;

use crate::cli::Options;
use crate::window::Measure;

/// Everything one run has measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    servers: Vec<String>,
    seconds: f64,
    rounds: usize,
    keys: usize,
    lines: Vec<Line>,
}

/// One line of the table: a row, or one of the things that it measures.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    /// For each server its rounds.
    measures: Vec<Vec<Measure>>,
    /// For each server the medians.
    medians: Vec<Measure>,
}

/// One number of a measure.
type Pick = fn(&Measure) -> f64;

const COLUMNS: [(&str, Pick); 10] = [
    ("ops/s", |m| m.ops_per_second),
    ("p50 us", |m| m.p50_micros),
    ("p99 us", |m| m.p99_micros),
    ("p99.9 us", |m| m.p999_micros),
    ("server us/op", |m| m.server_micros_per_op),
    ("client us/op", |m| m.client_micros_per_op),
    ("written B/op", |m| m.written_bytes_per_op),
    ("RSS MiB", |m| m.rss_bytes / MEBIBYTE),
    ("anon MiB", |m| m.anon_bytes / MEBIBYTE),
    ("peak MiB", |m| m.peak_bytes / MEBIBYTE),
];

const MEBIBYTE: f64 = 1024.0 * 1024.0;

impl Report {
    pub(crate) fn new(servers: &[String], options: &Options) -> Report {
        Report {
            servers: servers.to_vec(),
            seconds: options.seconds,
            rounds: options.rounds,
            keys: options.keys,
            lines: Vec::new(),
        }
    }

    /// Adds what one round of one server has measured.
    pub(crate) fn add(&mut self, server: usize, measure: Measure) {
        let count = self.servers.len();
        let at = self.lines.iter().position(|line| line.name == measure.line);
        let at = at.unwrap_or_else(|| {
            self.lines.push(Line {
                name: measure.line.clone(),
                measures: vec![Vec::new(); count],
                medians: vec![Measure::default(); count],
            });
            self.lines.len() - 1
        });
        let line = &mut self.lines[at];
        line.measures[server].push(measure);
        line.medians[server] = medians(&line.measures[server]);
    }

    /// The table for a terminal.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        for (letter, server) in ["A", "B"].iter().zip(&self.servers) {
            out += &format!("{letter}: {server}\n");
        }
        out += &format!("windows of {} s, medians of {} rounds\n\n", self.seconds, self.rounds);
        out += &format!("{:<26}", "row");
        for (title, _) in COLUMNS {
            out += &format!("{title:>13}");
        }
        out.push('\n');
        for line in &self.lines {
            for (letter, medians) in ["A", "B"].iter().zip(&line.medians) {
                out += &format!("{:<26}", format!("{} {letter}", line.name));
                for (_, pick) in COLUMNS {
                    out += &format!("{:>13}", number(pick(medians)));
                }
                if medians.failed > 0.0 {
                    out += &format!("  {} failed", medians.failed);
                }
                out.push('\n');
            }
            if let [a, b] = &line.medians[..] {
                out += &format!("{:<26}", format!("{} A/B", line.name));
                for (_, pick) in COLUMNS {
                    out += &format!("{:>13}", ratio(pick(a), pick(b)));
                }
                out.push('\n');
            }
        }
        out
    }
}

/// The median of each number by itself.
fn medians(rounds: &[Measure]) -> Measure {
    let median = |pick: Pick| {
        let mut values: Vec<f64> = rounds.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        }
    };
    Measure {
        line: rounds[0].line.clone(),
        ops: median(|m| m.ops),
        failed: median(|m| m.failed),
        ops_per_second: median(|m| m.ops_per_second),
        p50_micros: median(|m| m.p50_micros),
        p99_micros: median(|m| m.p99_micros),
        p999_micros: median(|m| m.p999_micros),
        server_micros_per_op: median(|m| m.server_micros_per_op),
        client_micros_per_op: median(|m| m.client_micros_per_op),
        written_bytes_per_op: median(|m| m.written_bytes_per_op),
        rss_bytes: median(|m| m.rss_bytes),
        anon_bytes: median(|m| m.anon_bytes),
        peak_bytes: median(|m| m.peak_bytes),
    }
}

fn number(value: f64) -> String {
    if value == 0.0 {
        "-".to_owned()
    } else if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

fn ratio(a: f64, b: f64) -> String {
    if a == 0.0 || b == 0.0 { "-".to_owned() } else { format!("{:.2}x", a / b) }
}
