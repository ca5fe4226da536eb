//! Golden scripts: `testdata/*.txt`.
//!
//! ```text
//! config [queue=BYTES] [fragment=BYTES] [revisions=N] [value=BYTES]      first, if at all
//! open STREAM | close STREAM
//! watch STREAM KEY [END] [start=N] [id=N] [prev] [noput] [nodelete] [progress] [fragment]
//! cancel STREAM ID | progress STREAM | tick SECONDS
//! txn KEY...            one revision: puts, and deletes where a key begins with `-`
//! compact REV
//! feed [REVISIONS]      one slice of history to those that are behind
//! drain STREAM [BYTES]  what the client takes
//! gauges
//! ```
//! Messages print as in `rig::show`.

use super::rig::{INTERVAL, Rig, create, show};
use crate::{Config, Create, StreamId};
use anyhow::Result;
use script::{Command, Run};
use std::path::Path;
use std::time::Duration;
use types::Time;

#[test]
fn scripts() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    script::run_dir(&dir, System::start).unwrap();
}

struct System {
    rig: Rig,
}

impl System {
    fn start() -> System {
        System::with(Config::default(), 10)
    }

    fn with(config: Config, value_bytes: usize) -> System {
        let mut rig = Rig::new(config, value_bytes);
        rig.hub.close(super::rig::STREAM);
        System { rig }
    }

    fn lines(lines: Vec<String>) -> String {
        lines.into_iter().map(|line| line + "\n").collect()
    }
}

fn stream(command: &Command) -> Result<StreamId> {
    Ok(StreamId(command.parse_arg(0)?))
}

impl Run for System {
    fn run(&mut self, command: &Command) -> Result<String> {
        let silent = Ok(String::new());
        match command.name.as_str() {
            "config" => {
                let default = Config::default();
                let config = Config {
                    queue_bytes_max: command.parse_option("queue", default.queue_bytes_max)?,
                    fragment_bytes: command.parse_option("fragment", default.fragment_bytes)?,
                    batch_revisions_max: command
                        .parse_option("revisions", default.batch_revisions_max)?,
                    ..default
                };
                *self = System::with(config, command.parse_option("value", 10)?);
                silent
            }
            "open" => {
                self.rig.hub.open(stream(command)?, Time(0), INTERVAL);
                silent
            }
            "close" => {
                self.rig.hub.close(stream(command)?);
                silent
            }
            "watch" => {
                let flags = ["prev", "noput", "nodelete", "progress", "fragment"];
                let end = command.args.get(2).filter(|end| !flags.contains(&end.as_str()));
                let end = end.map_or("", String::as_str);
                let asked = Create {
                    watch_id: command.parse_option("id", 0)?,
                    prev_kv: command.has("prev"),
                    no_put: command.has("noput"),
                    no_delete: command.has("nodelete"),
                    progress_notify: command.has("progress"),
                    fragment: command.has("fragment"),
                    ..create(command.arg(1)?, end, command.parse_option("start", 0)?)
                };
                self.rig.hub.create(stream(command)?, &asked);
                silent
            }
            "cancel" => {
                self.rig.hub.cancel(stream(command)?, command.parse_arg(1)?);
                silent
            }
            "progress" => {
                self.rig.hub.request_progress(stream(command)?);
                silent
            }
            "tick" => {
                self.rig.hub.tick(Time(0) + Duration::from_secs(command.parse_arg(0)?));
                silent
            }
            "txn" => {
                let keys: Vec<&str> = command.args.iter().map(String::as_str).collect();
                self.rig.txn(&keys);
                silent
            }
            "compact" => {
                self.rig.compact(command.parse_arg(0)?);
                silent
            }
            "feed" => {
                let revisions =
                    if command.args.is_empty() { 1000 } else { command.parse_arg(0)? };
                let fed = self.rig.feed(revisions);
                Ok(if fed { String::new() } else { "nobody is behind\n".to_owned() })
            }
            "drain" => {
                let bytes =
                    if command.args.len() < 2 { usize::MAX } else { command.parse_arg(1)? };
                let messages = self.rig.drain_of(stream(command)?, bytes);
                Ok(System::lines(messages.iter().map(show).collect()))
            }
            "gauges" => {
                let gauges = self.rig.hub.gauges();
                Ok(format!(
                    "{} streams, {} watchers, {} slow, {} events\n",
                    gauges.streams, gauges.watchers, gauges.slow_watchers, gauges.events_total
                ))
            }
            _ => command.unknown(),
        }
    }
}
