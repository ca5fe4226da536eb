//! Go's durations: `1m2.5s`, `4.33481ms`.

use std::time::Duration;

/// Writes a duration as Go does.
pub(crate) fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < 1_000 {
        return format!("{nanos}ns");
    }
    if nanos < 1_000_000 {
        return format!("{}µs", decimal(nanos, 1_000));
    }
    if nanos < 1_000_000_000 {
        return format!("{}ms", decimal(nanos, 1_000_000));
    }
    let minutes = duration.as_secs() / 60;
    let seconds = decimal(nanos - u128::from(minutes) * 60_000_000_000, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(value: u128, unit: u128) -> String {
    let digits = unit.ilog10() as usize;
    let text = format!("{}.{:0digits$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Reads a duration as Go does; negative ones are read as zero.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || format!("time: invalid duration {}", super::quote::quote(text.as_bytes()));
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let value: f64 = rest[..end].parse().map_err(|_| invalid())?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        total += value * unit_seconds(&rest[..end], text)?;
        rest = &rest[end..];
    }
    if negative {
        return Ok(Duration::ZERO);
    }
    Duration::try_from_secs_f64(total).map_err(|_| invalid())
}

fn unit_seconds(unit: &str, text: &str) -> Result<f64, String> {
    let quoted = super::quote::quote(text.as_bytes());
    match unit {
        "ns" => Ok(1e-9),
        "us" | "µs" | "μs" => Ok(1e-6),
        "ms" => Ok(1e-3),
        "s" => Ok(1.0),
        "m" => Ok(60.0),
        "h" => Ok(3600.0),
        "" => Err(format!("time: missing unit in duration {quoted}")),
        _ => {
            let unit = super::quote::quote(unit.as_bytes());
            Err(format!("time: unknown unit {unit} in duration {quoted}"))
        }
    }
}
