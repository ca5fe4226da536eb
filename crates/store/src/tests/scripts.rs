//! Golden scripts: `testdata/*.txt`, entries in, what they come to out.
//!
//! ```text
//! config [quota=BYTES] [resident=BYTES] [recent=BYTES]         first, if at all
//! put KEY VALUE [lease=] [prev] [ignore_value] [ignore_lease]  entries, each applied at once
//! del KEY [END] [prev]  |  compact REV
//! grant ID TTL  |  revoke ID  |  checkpoint ID SECONDS
//! alarm list|raise|clear MEMBER none|nospace|corrupt
//! publish MEMBER NAME URL...  |  version TEXT  |  downgrade TEXT|off
//!     all of them: [id=N] [floor=N] [proposer=N] [fence=TERM] [fence_index=N]
//! noop                          raft's own entry
//! if KEY [END] TARGET equal|greater|less|unequal GIVEN  |  then OP...  |  else OP...
//!     the open transaction; OP is put, del, get [rev=] or txn, which opens a nested one
//! end  |  commit [cost]         closes the nested one; applies the whole, or says what it costs
//! term N                        of the entries from here on
//! member ID URL [learner]  |  remove ID          changes of the membership
//! get KEY [END] [rev=]  |  watch KEY [END] [from=] [prev]  |  events
//! step KEYS                     compaction drops versions
//! flush  |  restart             from what was flushed, and the log
//! status  |  leases  |  members  |  ids
//! ```

use super::rig::{Rig, show_kv};
use crate::{Applied, Config, LeaseFact, Outcome};
use anyhow::Result;
use bytes::Bytes;
use proto::log::{self, Kind};
use script::{Command, Run};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use types::outcome::{Item, OpOutcome, TxnOutcome};
use types::{MemberId, OpError, RangeOp, Term, Time};
use watch::{Create, StreamId};

mod request;

#[test]
fn scripts() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    script::run_dir(&dir, System::start).unwrap();
}

const STREAM: StreamId = StreamId(1);

struct System {
    rig: Rig,
    open: request::OpenTxn,
    next_id: u64,
}

impl System {
    fn start() -> System {
        System::with(Config::default())
    }

    fn with(config: Config) -> System {
        let mut system = System { rig: Rig::new(config), open: Default::default(), next_id: 0 };
        system.open_stream();
        system
    }

    fn open_stream(&mut self) {
        self.rig.store.hub_mut().open(STREAM, Time(0), Duration::from_secs(600));
    }

    /// Applies a request under the id and fence that the command names.
    fn apply(&mut self, command: &Command, kind: Kind, body: Bytes) -> Result<String> {
        self.next_id += 1;
        let proposer: u64 = command.parse_option("proposer", 1)?;
        let id = (proposer << 48) + command.parse_option("id", self.next_id)?;
        let floor = match command.option("floor") {
            Some(_) => (proposer << 48) + command.parse_option("floor", 0)?,
            None => 0,
        };
        let fence_term = command.parse_option("fence", 0)?;
        let fence_index = command.parse_option("fence_index", 0)?;
        let entry = log::Entry { id, floor, fence_term, fence_index, kind, body };
        let applied = self.rig.entry(entry.encode());
        self.show(&applied)
    }

    fn show(&self, applied: &Applied) -> Result<String> {
        let mut out = match &applied.result {
            Ok(outcome) => self.show_outcome(outcome),
            Err(error) => format!("{error:?}"),
        };
        if applied.over_quota {
            out += ", over the quota";
        }
        writeln!(out, "  [revision {}]", applied.revision)?;
        for fact in &applied.facts {
            match fact {
                LeaseFact::Granted { id, ttl } => writeln!(out, "  lease {id} begins, {ttl} s")?,
                LeaseFact::Revoked(id) => writeln!(out, "  lease {id} is gone")?,
                LeaseFact::Checkpointed { id, remaining } => {
                    writeln!(out, "  lease {id} has {remaining} s")?;
                }
            }
        }
        Ok(out)
    }

    fn show_outcome(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Put(put) => {
                format!("put at {}{}", put.revision, self.show_prev(put.prev.as_slice()))
            }
            Outcome::Delete(delete) => {
                let prev = self.show_prev(&delete.prev);
                format!("deleted {} at {}{prev}", delete.deleted, delete.revision)
            }
            Outcome::Txn(txn) => self.show_txn(txn),
            Outcome::LeaseGrant { id, ttl } => format!("granted {id} for {ttl} s"),
            Outcome::Compact(revision) => format!("compacts to {revision}"),
            Outcome::Alarm(list) => show_alarms(list),
            other => format!("{other:?}"),
        }
    }

    fn show_txn(&self, txn: &TxnOutcome) -> String {
        let branch = if txn.succeeded { "then" } else { "else" };
        let ops: Vec<String> = txn.outcomes.iter().map(|op| self.show_op(op)).collect();
        format!("{branch} at {} {{{}}}", txn.revision, ops.join("; "))
    }

    fn show_op(&self, op: &OpOutcome) -> String {
        match op {
            OpOutcome::Range(range) => {
                let items: Vec<String> = range.items.iter().map(|at| self.show_item(at)).collect();
                format!("[{}] of {} at {}", items.join(" "), range.count, range.revision)
            }
            OpOutcome::Put(put) => self.show_outcome(&Outcome::Put(put.clone())),
            OpOutcome::Delete(delete) => self.show_outcome(&Outcome::Delete(delete.clone())),
            OpOutcome::Txn(txn) => self.show_txn(txn),
        }
    }

    fn show_prev(&self, prev: &[Item]) -> String {
        let items: Vec<String> = prev.iter().map(|item| self.show_item(item)).collect();
        if items.is_empty() { String::new() } else { format!(", was {}", items.join(" ")) }
    }

    fn show_item(&self, item: &Item) -> String {
        match item {
            Item::Resident(kv) => show_kv(kv),
            Item::Cold { revision, .. } => {
                let record = self.rig.store.reader().get(*revision).unwrap();
                format!("~{}", show_kv(&record.expect("cold records are stored").kv))
            }
        }
    }

    fn status(&self) -> String {
        let (store, figures) = (&self.rig.store, self.rig.store.figures());
        let (applied, term, compacted) = (store.applied(), store.applied_term(), figures.compacted);
        let compacted = if compacted < 0 { "never".to_owned() } else { compacted.to_string() };
        format!(
            "applied {applied}@{term}, revision {}, compacted {compacted}, keys {}, live {} of {}\n\
             alarms {}, version {}, downgrade {}\n",
            figures.revision,
            figures.keys,
            figures.live_bytes,
            figures.quota_bytes,
            show_alarms(&store.alarms(None)),
            store.cluster_version().unwrap_or("none"),
            store.downgrade().unwrap_or("none"),
        )
    }

    fn get(&mut self, command: &Command) -> Result<String> {
        let range = request::range(command, 0)?;
        let revision = command.parse_option("rev", 0)?;
        let result = self.rig.store.range(&RangeOp { range, revision, ..RangeOp::default() });
        Ok(result.map_or_else(show_error, |range| self.show_op(&OpOutcome::Range(range))))
    }

    fn leases(&self) -> String {
        let text = |key: &Bytes| String::from_utf8_lossy(key).into_owned();
        let line = |(id, lease): (_, &lease::Lease)| {
            let keys: Vec<String> = lease.keys().map(text).collect();
            let left = lease.restart_ttl();
            format!("{id}: {} s, {left} s after a restart, [{}]\n", lease.ttl, keys.join(" "))
        };
        self.rig.store.leases().check();
        self.rig.store.leases().iter().map(line).collect()
    }

    fn members(&self) -> String {
        let mut out = String::new();
        for row in self.rig.store.members() {
            let learner = if row.is_learner { ", learner" } else { "" };
            let (peers, clients) = (row.peer_urls.join(" "), row.client_urls.join(" "));
            out += &format!("{} '{}' peers [{peers}] clients [{clients}]", row.id, row.name);
            out += &format!("{learner}\n");
        }
        out
    }
}

impl Run for System {
    fn run(&mut self, command: &Command) -> Result<String> {
        if let Some((kind, body)) = request::entry(command)? {
            return self.apply(command, kind, body);
        }
        let mut out = String::new();
        match command.name.as_str() {
            "config" => {
                *self = System::with(Config {
                    quota_bytes: command.parse_option("quota", 0)?,
                    mvcc: mvcc::Config {
                        resident_bytes: command.parse_option("resident", usize::MAX)?,
                        recent_bytes: command.parse_option("recent", usize::MAX)?,
                    },
                    ..Config::default()
                });
            }
            "if" | "then" | "else" | "end" => self.open.line(command)?,
            "commit" if command.has("cost") => {
                out = format!("{} bytes", self.open.cost()?);
            }
            "commit" => {
                let body = self.open.take()?;
                return self.apply(command, Kind::Txn, body);
            }
            "noop" => {
                let applied = self.rig.entry(Bytes::new());
                return self.show(&applied);
            }
            "term" => self.rig.term = Term(command.parse_arg(0)?),
            "member" => self.rig.store.set_member(request::member(command)?),
            "remove" => self.rig.store.remove_member(MemberId(command.parse_arg(0)?)),
            "get" => out = self.get(command)?,
            "watch" => {
                let create = Create {
                    range: request::range(command, 0)?,
                    start_revision: command.parse_option("from", 0)?,
                    prev_kv: command.has("prev"),
                    ..Create::default()
                };
                self.rig.store.hub_mut().create(STREAM, &create);
            }
            "events" => {
                self.rig.catch_up();
                out = self.rig.drain(STREAM).join("\n");
            }
            "step" => {
                let done = self.rig.store.compact_step(command.parse_arg(0)?);
                out = if done { "done".to_owned() } else { "not done".to_owned() };
            }
            "flush" => {
                let pending = self.rig.store.pending();
                let (entries, records) = (pending.entries, pending.records);
                writeln!(out, "{entries} entries, +{records} -{} records", pending.removals)?;
                self.rig.flush();
            }
            "restart" => {
                self.rig.restart()?;
                self.open_stream();
            }
            "status" => out = self.status(),
            "leases" => out = self.leases(),
            "members" => out = self.members(),
            "ids" => out = format!("{} ids", self.rig.store.figures().request_ids),
            _ => return command.unknown(),
        }
        Ok(out)
    }
}

fn show_error(error: OpError) -> String {
    format!("{error:?}")
}

fn show_alarms(list: &[(MemberId, crate::AlarmKind)]) -> String {
    let texts: Vec<String> = list.iter().map(|(id, kind)| format!("{kind:?} of {id}")).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}
