//! Durations in Go's form: `1h30m`, `100ms`, `1.5s`, `0`.

use std::time::Duration;

const UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// Parses a duration; `None` if it is not one, or negative.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit_len = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let (_, factor) = UNITS.iter().find(|(unit, _)| *unit == &rest[..unit_len])?;
        nanos += number * factor;
        rest = &rest[unit_len..];
    }
    Duration::try_from_secs_f64(nanos / 1e9).ok()
}

/// Writes a duration as Go prints it: `1h0m0s`, `1.5s`, `300ms`.
pub(crate) fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_string();
    }
    for (below, unit, per) in
        [(1_000, "ns", 1), (1_000_000, "µs", 1_000), (1_000_000_000, "ms", 1_000_000_u128)]
    {
        if nanos < below {
            return format!("{}{unit}", decimal(nanos, per));
        }
    }
    let (hours, minutes) = (duration.as_secs() / 3600, duration.as_secs() / 60 % 60);
    let seconds =
        decimal(nanos - u128::from(duration.as_secs() / 60 * 60) * 1_000_000_000, 1_000_000_000);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(value: u128, per: u128) -> String {
    let (whole, part) = (value / per, value % per);
    if part == 0 {
        return whole.to_string();
    }
    let width = per.ilog10() as usize;
    format!("{whole}.{}", format!("{part:0width$}").trim_end_matches('0'))
}
