//! Golden scripts: `testdata/*.txt`.
//!
//! ```text
//! config [checkpoint=SECONDS] [spread=N]     first, if at all
//! grant ID TTL | revoke ID | put KEY ID | checkpoint ID SECONDS     applied at the current time
//! renew ID | ttl ID | list
//! due [N]              what ran out, to be revoked
//! checkpoints          what should be recorded
//! at SECONDS           the time
//! promote | demote     this member begins, or ends, to lead
//! leases               the replicated table
//! ```

use crate::{Config, Expiry, Table};
use anyhow::Result;
use bytes::Bytes;
use script::{Command, Run};
use std::path::Path;
use std::time::Duration;
use types::{Index, LeaseId, Time};

#[test]
fn scripts() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    script::run_dir(&dir, System::start).unwrap();
}

struct System {
    table: Table,
    expiry: Expiry,
    now: Time,
}

impl System {
    fn start() -> System {
        System::with(Config::default())
    }

    fn with(config: Config) -> System {
        System { table: Table::default(), expiry: Expiry::new(config), now: Time(0) }
    }

    fn applied(&mut self, command: &Command) -> Result<String> {
        let id = LeaseId(command.parse_arg(0)?);
        Ok(match command.name.as_str() {
            "grant" => match self.table.grant(Index(1), id, command.parse_arg(1)?) {
                Ok(()) => {
                    self.expiry.granted(self.now, id, command.parse_arg(1)?);
                    String::new()
                }
                Err(error) => format!("{error:?}\n"),
            },
            "revoke" => match self.table.revoke(id) {
                Ok(keys) => {
                    self.expiry.revoked(id);
                    let text = |key: &Bytes| String::from_utf8_lossy(key).into_owned();
                    format!("deletes [{}]\n", keys.iter().map(text).collect::<Vec<_>>().join(" "))
                }
                Err(error) => format!("{error:?}\n"),
            },
            _ => {
                let remaining = command.parse_arg(1)?;
                self.table.checkpoint(id, remaining);
                self.expiry.checkpointed(id, remaining);
                String::new()
            }
        })
    }
}

impl Run for System {
    fn run(&mut self, command: &Command) -> Result<String> {
        let id = |at| Ok::<_, anyhow::Error>(LeaseId(command.parse_arg(at)?));
        Ok(match command.name.as_str() {
            "config" => {
                let checkpoint: u64 = command.parse_option("checkpoint", 0)?;
                let interval = Some(Duration::from_secs(checkpoint)).filter(|d| !d.is_zero());
                *self = System::with(Config {
                    checkpoint_interval: interval,
                    spread_per_second: command.parse_option("spread", 750)?,
                    ..Config::default()
                });
                String::new()
            }
            "grant" | "revoke" | "checkpoint" => self.applied(command)?,
            "put" => {
                let from = super::lease_of(&self.table, command.arg(0)?);
                self.table.attach(command.arg(0)?.as_bytes(), from, id(1)?);
                String::new()
            }
            "renew" => format!("{:?}\n", self.expiry.renew(self.now, id(0)?)),
            "ttl" => format!("{:?}\n", self.expiry.time_to_live(self.now, id(0)?)),
            "list" => format!("{:?}\n", self.expiry.by_deadline()),
            "due" => {
                let max = if command.args.is_empty() { 500 } else { command.parse_arg(0)? };
                let mut due = Vec::new();
                self.expiry.due(self.now, max, &mut due);
                format!("due {:?}\n", due.iter().map(|id| id.0).collect::<Vec<_>>())
            }
            "checkpoints" => {
                let mut due = Vec::new();
                self.expiry.checkpoints_due(self.now, 1000, &mut due);
                format!("record {:?}\n", due.iter().map(|(id, s)| (id.0, *s)).collect::<Vec<_>>())
            }
            "at" => {
                self.now = Time::from_millis(command.parse_arg::<u64>(0)? * 1000);
                String::new()
            }
            "promote" => {
                self.expiry.promote(self.now, &self.table);
                String::new()
            }
            "demote" => {
                self.expiry.demote();
                String::new()
            }
            "leases" => {
                let line = |(id, lease): (LeaseId, &crate::Lease)| {
                    let (ttl, remaining) = (lease.ttl, lease.remaining);
                    format!("{id}: ttl {ttl} remaining {remaining} keys {}\n", lease.key_count())
                };
                self.table.iter().map(line).collect()
            }
            _ => return command.unknown(),
        })
    }
}
