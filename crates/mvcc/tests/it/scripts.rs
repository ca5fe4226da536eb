//! Golden scripts: `testdata/*.txt`.
//!
//! ```text
//! put KEY VALUE [lease=N]      del KEY [END]            writes, each a transaction of its own ...
//! begin | commit               ... unless it stands between these
//! get KEY [END] [rev= limit= order= target= min_mod= max_mod= min_create= max_create=]
//!     [keys_only] [count_only]
//! compare KEY [END] TARGET RESULT GIVEN
//! prev KEY MAIN                the version before the event of that revision
//! history FROM TO [max=BYTES]  records for catching up
//! compact REV | step KEYS      compaction, and the dropping of versions
//! flush REV                    records may leave memory from here on
//! warm KEY [END] | release     read cold records, let them go
//! restore                      restart from the records that were not dropped
//! kept | status
//! ```
//! A version prints as `4.0 key = value`, a tombstone as `5.0(t) key`, a cold record with `~`.

use anyhow::{Context, Result};
use bytes::Bytes;
use mvcc::{Config, History, Keyspace, Restore, Stored, WriteTxn, kv};
use script::{Command, Run};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use types::op::{SortOrder, SortTarget};
use types::outcome::Item;
use types::{Compare, CompareResult, CompareTarget, KeyRange, LeaseId, RangeOp, Record, Revision};

#[test]
fn scripts() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    script::run_dir(&dir, System::start).unwrap();
}

struct System {
    config: Config,
    keyspace: Keyspace,
    backend: BTreeMap<Revision, Record>,
    is_open: bool,
}

impl System {
    fn start() -> System {
        let config = Config::default();
        let keyspace = Keyspace::new(config);
        System { config, keyspace, backend: BTreeMap::new(), is_open: false }
    }
}

impl Run for System {
    fn run(&mut self, command: &Command) -> Result<String> {
        match command.name.as_str() {
            "budget" => {
                let config = Config {
                    resident_bytes: command.parse_option("resident", usize::MAX)?,
                    recent_bytes: command.parse_option("recent", usize::MAX)?,
                };
                (self.config, self.keyspace) = (config, Keyspace::new(config));
                Ok(String::new())
            }
            "put" | "del" => self.write(command),
            "begin" => {
                self.is_open = true;
                Ok(String::new())
            }
            "commit" => {
                self.is_open = false;
                let changes = self.keyspace.resume().commit();
                self.committed(changes)
            }
            "get" => self.get(command),
            "compare" => self.compare(command),
            "prev" => {
                let prev =
                    self.keyspace.prev(bytes(command.arg(0)?).as_ref(), command.parse_arg(1)?);
                Ok(prev.map_or("none".to_owned(), |prev| stored(&prev)))
            }
            "history" => self.history(command),
            "compact" => {
                let result = self.keyspace.compact(command.parse_arg(0)?);
                Ok(result.map_or_else(|error| format!("{error:?}"), |()| self.status()))
            }
            "step" => {
                let progress = self.keyspace.compact_step(command.parse_arg(0)?);
                let mut out = String::new();
                for revision in progress.dropped {
                    let record = self.backend.remove(&revision).context("dropped twice")?;
                    writeln!(out, "dropped {}", shown(&record))?;
                }
                out += if progress.done { "done" } else { "not done" };
                Ok(out)
            }
            "flush" => {
                self.keyspace.flushed(command.parse_arg(0)?);
                Ok(self.status())
            }
            "warm" => {
                let needs = self.keyspace.needs_for_keys(&range(command, 0)?);
                let records: Vec<_> = needs.iter().map(|at| self.backend[at].clone()).collect();
                self.keyspace.warm(records);
                Ok(needs.iter().fold("needs".to_owned(), |out, at| format!("{out} {at}")))
            }
            "release" => {
                self.keyspace.release_warm();
                Ok(self.status())
            }
            "restore" => self.restore(),
            "kept" => {
                Ok(self.backend.values().fold(String::new(), |out, at| out + &shown(at) + "\n"))
            }
            "status" => Ok(self.status()),
            _ => command.unknown(),
        }
    }
}

impl System {
    fn status(&self) -> String {
        let keyspace = &self.keyspace;
        format!(
            "revision {}, compacted {}, keys {}, live {}",
            keyspace.revision(),
            keyspace.compacted(),
            keyspace.key_count(),
            keyspace.live_bytes(),
        )
    }

    fn write(&mut self, command: &Command) -> Result<String> {
        let mut txn = if self.is_open { self.keyspace.resume() } else { self.keyspace.begin() };
        if command.name == "put" {
            let lease = LeaseId(command.parse_option("lease", 0)?);
            txn.put(&bytes(command.arg(0)?), &bytes(command.arg(1)?), lease);
        } else {
            txn.delete_range(&range(command, 0)?, mvcc::Prev::Wanted);
        }
        if self.is_open {
            let out = format!("sees {}, {} changes", txn.revision(), txn.change_count());
            txn.suspend();
            return Ok(out);
        }
        let changes = WriteTxn::commit(txn);
        self.committed(changes)
    }

    fn committed(&mut self, changes: mvcc::Changes) -> Result<String> {
        let mut out = String::new();
        for change in changes.changes {
            let prev = change
                .prev
                .as_ref()
                .map_or(String::new(), |prev| format!("  (was {})", stored(prev)));
            writeln!(out, "{}{prev}", shown(&change.record))?;
            self.backend.insert(change.record.revision, change.record);
        }
        writeln!(out, "revision {}", changes.revision)?;
        Ok(out)
    }

    fn get(&mut self, command: &Command) -> Result<String> {
        let op = RangeOp {
            range: range(command, 0)?,
            limit: command.parse_option("limit", 0)?,
            revision: command.parse_option("rev", 0)?,
            sort_order: match command.option("order") {
                Some("ascend") => SortOrder::Ascend,
                Some("descend") => SortOrder::Descend,
                _ => SortOrder::None,
            },
            sort_target: match command.option("target") {
                Some("version") => SortTarget::Version,
                Some("create") => SortTarget::Create,
                Some("mod") => SortTarget::Mod,
                Some("value") => SortTarget::Value,
                _ => SortTarget::Key,
            },
            serializable: false,
            keys_only: command.has("keys_only"),
            count_only: command.has("count_only"),
            min_mod_revision: command.parse_option("min_mod", 0)?,
            max_mod_revision: command.parse_option("max_mod", 0)?,
            min_create_revision: command.parse_option("min_create", 0)?,
            max_create_revision: command.parse_option("max_create", 0)?,
        };
        let result =
            if self.is_open { self.keyspace.resume().range(&op) } else { self.keyspace.range(&op) };
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => return Ok(format!("{error:?}")),
        };
        let mut out = String::new();
        for item in outcome.items {
            writeln!(out, "{}", shown_item(&item))?;
        }
        let more = if outcome.more { ", more" } else { "" };
        writeln!(out, "count {}{more}, revision {}", outcome.count, outcome.revision)?;
        Ok(out)
    }

    fn compare(&mut self, command: &Command) -> Result<String> {
        let at = command.args.len() - 3;
        let given = command.arg(at + 2)?;
        let target = match command.arg(at)? {
            "version" => CompareTarget::Version(given.parse()?),
            "create" => CompareTarget::Create(given.parse()?),
            "mod" => CompareTarget::Mod(given.parse()?),
            "lease" => CompareTarget::Lease(given.parse()?),
            "value" => CompareTarget::Value(bytes(given)),
            _ => CompareTarget::Unknown,
        };
        let result = match command.arg(at + 1)? {
            "equal" => CompareResult::Equal,
            "greater" => CompareResult::Greater,
            "less" => CompareResult::Less,
            "not_equal" => CompareResult::NotEqual,
            _ => CompareResult::Unknown,
        };
        let end = if at == 2 { bytes(command.arg(1)?) } else { Bytes::new() };
        let compare = Compare { range: KeyRange::new(bytes(command.arg(0)?), end), result, target };
        Ok(self.keyspace.compare(&compare).to_string())
    }

    fn history(&mut self, command: &Command) -> Result<String> {
        let max = command.parse_option("max", usize::MAX)?;
        match self.keyspace.changes(command.parse_arg(0)?, command.parse_arg(1)?, max) {
            History::NeedsBackend { from, to } => Ok(format!("read {from} to {to} back")),
            History::Resident { records, next } => {
                let lines = records.iter().map(|record| shown(record) + "\n");
                Ok(lines.collect::<String>() + &format!("next {next}"))
            }
        }
    }

    fn restore(&mut self) -> Result<String> {
        let (revision, compacted) = (self.keyspace.revision(), self.keyspace.compacted());
        let mut restore = Restore::new(self.config, revision, compacted);
        for record in self.backend.values() {
            restore.feed(record).ok().context("a record is malformed")?;
        }
        let restored = restore.finish();
        self.keyspace = restored.keyspace;
        let mut out = String::new();
        for revision in restored.garbage {
            let record = self.backend.remove(&revision).context("dropped twice")?;
            writeln!(out, "garbage {}", shown(&record))?;
        }
        Ok(out + &self.status())
    }
}

/// Keys and values of scripts are ASCII, `\xNN` apart.
fn bytes(text: &str) -> Bytes {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

fn range(command: &Command, at: usize) -> Result<KeyRange> {
    let words = ["keys_only", "count_only"];
    let end = command.args.get(at + 1).filter(|word| !words.contains(&word.as_str()));
    Ok(KeyRange::new(bytes(command.arg(at)?), end.map_or(Bytes::new(), |end| bytes(end))))
}

fn shown(record: &Record) -> String {
    let key = kv::key(&record.kv).escape_ascii();
    if record.tombstone {
        return format!("{}(t) {key}", record.revision);
    }
    format!("{} {key} = {}", record.revision, kv::value(&record.kv).escape_ascii())
}

fn shown_item(item: &Item) -> String {
    let kv = match item {
        Item::Resident(kv) => kv,
        Item::Cold { revision, len } => return format!("~ {revision}, {len} bytes"),
    };
    let numbers = kv::parse(kv).expect("records are sound").numbers;
    let lease =
        if numbers.lease == 0 { String::new() } else { format!(" lease {}", numbers.lease) };
    format!(
        "{} = {}  [mod {} create {} version {}{lease}]",
        kv::key(kv).escape_ascii(),
        kv::value(kv).escape_ascii(),
        numbers.modified,
        numbers.create,
        numbers.version,
    )
}

fn stored(stored: &Stored) -> String {
    match &stored.item {
        Item::Resident(kv) => format!("{} {}", stored.meta.modified, kv::value(kv).escape_ascii()),
        Item::Cold { revision, .. } => format!("~ {revision}"),
    }
}
