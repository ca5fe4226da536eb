//! Log lines in etcd's form: one JSON object a line with `level`, `ts`, `caller`, `msg` and
//! fields, or tab-separated for a console. Events come from `tracing`.

use crate::config::Line;
use serde_json::{Map, Value};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

/// Sets the process up to log; the error says which output cannot be opened.
pub fn init(outputs: &[String], level: &str, json: bool) -> Result<(), String> {
    let mut sinks = Vec::new();
    for output in outputs {
        sinks.push(Sink::open(output)?);
    }
    if sinks.is_empty() {
        sinks.push(Sink::Stderr);
    }
    let lines = Lines { sinks: Mutex::new(sinks), level: level_of(level), json };
    // A second start within one process (tests) keeps the first setting.
    let _ = tracing::subscriber::set_global_default(registry().with(lines));
    Ok(())
}

/// Logs a line from before there was a log.
pub fn early(line: &Line) {
    let fields =
        line.fields.iter().map(|(name, value)| ((*name).to_string(), value.clone().into()));
    let text = json_line(line.level, "config/mod.rs:1", &line.message, fields.collect());
    // There is nobody to tell when standard error is gone.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Says which authority a request named, in the words of Go's HTTP/2 library and where its
/// environment variable asks for them: tools look for this line.
pub fn authority(uri: &http::Uri) {
    static ASKED: OnceLock<bool> = OnceLock::new();
    let asked = ASKED.get_or_init(|| {
        let debug = std::env::var("GODEBUG").unwrap_or_default();
        debug.split(',').any(|part| part == "http2debug=2")
    });
    if let (true, Some(authority)) = (*asked, uri.authority()) {
        let text = format!(
            "http2: decoded hpack field header field \":authority\" = {:?}\n",
            authority.as_str()
        );
        // There is nobody to tell when standard error is gone.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

fn level_of(name: &str) -> Level {
    match name {
        "debug" => Level::DEBUG,
        "info" => Level::INFO,
        "warn" => Level::WARN,
        _ => Level::ERROR,
    }
}

/// Where lines go.
enum Sink {
    Stderr,
    Stdout,
    File(std::fs::File),
}

impl Sink {
    fn open(output: &str) -> Result<Sink, String> {
        match output {
            "default" | "stderr" | "/dev/stderr" => Ok(Sink::Stderr),
            "stdout" | "/dev/stdout" => Ok(Sink::Stdout),
            "systemd/journal" => Ok(Sink::Stderr),
            path => OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .map(Sink::File)
                .map_err(|e| format!("--log-outputs: open {path}: {e}")),
        }
    }

    fn write(&mut self, line: &[u8]) {
        // A log that cannot be written must not stop the store.
        let _ = match self {
            Sink::Stderr => std::io::stderr().write_all(line),
            Sink::Stdout => std::io::stdout().write_all(line),
            Sink::File(file) => file.write_all(line),
        };
    }
}

struct Lines {
    /// A line is written whole: threads beside the loop log too, and a channel would lose the
    /// last lines before the process ends.
    sinks: Mutex<Vec<Sink>>,
    level: Level,
    json: bool,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level && !foreign(metadata.target())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        fields.spread();
        let metadata = event.metadata();
        let caller = caller(metadata.file().unwrap_or("?"), metadata.line().unwrap_or(0));
        let level = match fields.map.remove("fatal") {
            Some(Value::Bool(true)) => "fatal",
            _ => level_name(*metadata.level()),
        };
        let line = if self.json {
            json_line(level, &caller, &fields.message, fields.map)
        } else {
            console_line(level, &caller, &fields.message, fields.map)
        };
        if let Ok(mut sinks) = self.sinks.lock() {
            for sink in sinks.iter_mut() {
                sink.write(line.as_bytes());
            }
        }
    }
}

/// Libraries log under their own names and for their own authors.
fn foreign(target: &str) -> bool {
    ["h2", "hyper", "hyper_util", "tokio", "mio", "want"]
        .iter()
        .any(|library| target == *library || target.starts_with(&format!("{library}::")))
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        _ => "debug",
    }
}

/// The last folder and the file, with the line.
fn caller(file: &str, line: u32) -> String {
    let mut parts = file.rsplit('/');
    let name = parts.next().unwrap_or(file);
    match parts.next() {
        Some(folder) => format!("{folder}/{name}:{line}"),
        None => format!("{name}:{line}"),
    }
}

fn json_line(level: &str, caller: &str, message: &str, fields: Map<String, Value>) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let mut line = format!(
        "{{\"level\":\"{level}\",\"ts\":\"{}\",\"caller\":{},\"msg\":{}",
        timestamp(SystemTime::now()),
        text(caller),
        text(message)
    );
    for (name, value) in fields {
        line.push_str(&format!(",{}:{value}", text(&name)));
    }
    line.push_str("}\n");
    line
}

fn console_line(level: &str, caller: &str, message: &str, fields: Map<String, Value>) -> String {
    let fields =
        if fields.is_empty() { String::new() } else { format!("\t{}", Value::Object(fields)) };
    format!("{}\t{level}\t{caller}\t{message}{fields}\n", timestamp(SystemTime::now()))
}

/// UTC with microseconds, without trailing zeros, as etcd writes it.
fn timestamp(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    let micros = format!(".{:06}", since.subsec_micros());
    let micros = micros.trim_end_matches('0').trim_end_matches('.');
    format!("{year:04}-{month:02}-{day:02}T{time}{micros}Z")
}

/// Year, month and day of a count of days since 1970 in the Gregorian calendar, by whole
/// 400-year eras that begin on the first of March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Message and fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    map: Map<String, Value>,
}

impl Fields {
    /// A field `fields` holds a JSON object: its members become fields of their own.
    fn spread(&mut self) {
        let Some(Value::String(text)) = self.map.get("fields") else { return };
        if let Ok(Value::Object(inner)) = serde_json::from_str(text) {
            self.map.remove("fields");
            self.map.extend(inner);
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        self.map.insert(field.name().replace('_', "-"), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.put(field, text.into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message = value.to_string();
        } else {
            self.put(field, value.into());
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_are_utc_with_microseconds_and_no_trailing_zeros() {
        for (secs, micros, text) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 500_000, "2000-02-29T00:00:00.5Z"),
            (1_796_057_043, 849_098, "2026-11-30T16:44:03.849098Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(secs) + Duration::from_micros(micros);
            assert_eq!(timestamp(time), text);
        }
    }

    #[test]
    fn a_line_is_one_json_object_with_the_four_fields_first() {
        let fields = Map::from_iter([("key \"x\"".to_string(), Value::from("a\nb"))]);
        let line = json_line("warn", "a/b.rs:3", "say \"hi\"", fields);
        assert!(line.starts_with("{\"level\":\"warn\",\"ts\":\""), "{line}");
        let parsed: Value = serde_json::from_str(&line).expect("a JSON object");
        assert_eq!(parsed["msg"], "say \"hi\"");
        assert_eq!(parsed["caller"], "a/b.rs:3");
        assert_eq!(parsed["key \"x\""], "a\nb");
        assert_eq!(line.matches('\n').count(), 1);
    }
}
