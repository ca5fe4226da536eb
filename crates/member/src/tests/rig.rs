//! The smallest driver: executes every effect at once, on a disk in memory.

use crate::request::{Request, RequestId, Response, StreamId, WriteKind};
use crate::{Config, Effect, Event, Member};
use bytes::Bytes;
use prost::Message;
use proto::etcdserverpb::PutRequest;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use types::{ClusterId, KeyRange, MemberId, OpError, RangeOp, Time};
use vfs::sim::SimDisk;

pub(super) const MEMBER: MemberId = MemberId(0x8e9e_05c5_2164_694d);
pub(super) const CLUSTER: ClusterId = ClusterId(0xcdf8_18d3_e2b1_4c0e);

pub(super) type Answer = Result<Response, OpError>;

/// A member with its disk. Effects that are held back wait in `held`.
pub(super) struct Rig {
    pub(super) disk: SimDisk,
    pub(super) config: Config,
    pub(super) store: store::Config,
    pub(super) member: Member,
    wal: wal::Wal,
    backend: backend::Backend,
    pub(super) now: Time,
    pub(super) answers: BTreeMap<RequestId, Answer>,
    pub(super) headers: BTreeMap<RequestId, crate::Header>,
    pub(super) notes: Vec<crate::effect::Note>,
    pub(super) ready: Vec<StreamId>,
    pub(super) trims: Vec<types::Index>,
    pub(super) flushes: usize,
    /// Of each hash whether it was paced.
    pub(super) hashes_paced: Vec<bool>,
    pub(super) is_stopped: bool,
    /// While true, what is to be written waits in `held`.
    pub(super) holds_writes: bool,
    /// While true, flush jobs do.
    pub(super) holds_flushes: bool,
    pub(super) held: Vec<Effect>,
    pub(super) log_fetches: usize,
    pub(super) sent: Vec<(MemberId, Bytes)>,
    requests: u64,
}

impl Rig {
    pub(super) fn new() -> Rig {
        Rig::with(Config::new(MEMBER, CLUSTER, 1), store::Config::default())
    }

    pub(super) fn with(config: Config, store: store::Config) -> Rig {
        Rig::start(SimDisk::new(), config, store, Time(0))
    }

    fn start(disk: SimDisk, mut config: Config, store: store::Config, now: Time) -> Rig {
        let shared: Arc<dyn vfs::Disk> = Arc::new(disk.clone());
        let identity = wal::Identity { cluster: config.cluster, member: config.member };
        let mut sizes = wal::WalConfig::new(1);
        sizes.segment_bytes = 256 * 1024;
        let data = backend::Config { salt: 1, ..backend::Config::default() };
        let is_old = wal::Wal::exists(&*shared, "wal").unwrap_or(false);
        let (wal, log) = if is_old {
            wal::Wal::open(shared.clone(), "wal", sizes, Some(identity)).unwrap()
        } else {
            wal::Wal::create(shared.clone(), "wal", sizes, identity, Bytes::new()).unwrap()
        };
        let (backend, mut recovered) = if is_old {
            backend::Backend::open(shared, "db", data).unwrap()
        } else {
            backend::Backend::create(shared, "db", data).unwrap()
        };
        let restored = store::Store::restore(store.clone(), &mut recovered).unwrap();
        config.boot = log.boot;
        let mut member = Member::new(config.clone(), log, restored, now).unwrap();
        member.read_log_with(wal.reader());
        let mut rig = Rig {
            disk,
            config,
            store,
            member,
            wal,
            backend,
            now,
            answers: BTreeMap::new(),
            headers: BTreeMap::new(),
            notes: Vec::new(),
            ready: Vec::new(),
            trims: Vec::new(),
            flushes: 0,
            hashes_paced: Vec::new(),
            is_stopped: false,
            holds_writes: false,
            holds_flushes: false,
            held: Vec::new(),
            log_fetches: 0,
            sent: Vec::new(),
            requests: 0,
        };
        rig.turn();
        rig
    }

    /// A member on a fresh disk, unless it refuses.
    pub(super) fn try_start(config: Config) -> Result<Member, crate::StartError> {
        let shared: Arc<dyn vfs::Disk> = Arc::new(SimDisk::new());
        let identity = wal::Identity { cluster: config.cluster, member: config.member };
        let sizes = wal::WalConfig::new(1);
        drop(wal::Wal::create(shared.clone(), "wal", sizes.clone(), identity, Bytes::new()));
        let (_, log) = wal::Wal::open(shared, "wal", sizes, Some(identity)).unwrap();
        Member::new(config, log, store::Store::new(store::Config::default()), Time(0))
    }

    /// As `restart`, for a member that may refuse.
    pub(super) fn try_restart(self) -> Result<Member, crate::StartError> {
        self.disk.kill();
        let shared: Arc<dyn vfs::Disk> = Arc::new(self.disk.clone());
        let mut sizes = wal::WalConfig::new(1);
        sizes.segment_bytes = 256 * 1024;
        let (_, log) = wal::Wal::open(shared.clone(), "wal", sizes, None).unwrap();
        let data = backend::Config { salt: 1, ..backend::Config::default() };
        let (_, mut recovered) = backend::Backend::open(shared, "db", data).unwrap();
        let restored = store::Store::restore(self.store, &mut recovered).unwrap();
        Member::new(self.config, log, restored, self.now)
    }

    /// The process is killed and started again.
    pub(super) fn restart(self) -> Rig {
        self.disk.kill();
        Rig::start(self.disk, self.config, self.store, self.now)
    }

    /// The power fails with nothing unsynced kept, and the process is started again.
    pub(super) fn lose_power(self) -> Rig {
        self.disk.power_loss(&mut |_| 0);
        Rig::start(self.disk, self.config, self.store, self.now)
    }

    pub(super) fn step(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.member.step(self.now, event, &mut effects);
        self.execute(effects);
    }

    /// Turns until nothing moves.
    pub(super) fn turn(&mut self) {
        loop {
            let mut effects = Vec::new();
            self.member.turn(self.now, &mut effects);
            let is_quiet = effects.is_empty() && self.now < self.member.next_deadline(self.now);
            self.execute(effects);
            if is_quiet {
                break;
            }
        }
    }

    /// Lets time go on, tick by tick.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.member.next_deadline(self.now).min(end);
            self.step(Event::Tick);
            self.turn();
        }
    }

    pub(super) fn send(&mut self, request: Request) -> RequestId {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.step(Event::Request { id, request, deadline: None });
        id
    }

    /// Sends a request and returns its answer, which must follow without time going on.
    pub(super) fn ask(&mut self, request: Request) -> Answer {
        let id = self.send(request);
        self.turn();
        self.answers.remove(&id).expect("an answer follows")
    }

    fn execute(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let is_held = match effect {
                Effect::Persist { .. } => self.holds_writes,
                Effect::Flush { .. } => self.holds_writes || self.holds_flushes,
                _ => false,
            };
            if is_held {
                self.held.push(effect);
            } else {
                self.execute_one(effect);
            }
        }
    }

    /// Lets the writes go that were held back.
    pub(super) fn release(&mut self) {
        (self.holds_writes, self.holds_flushes) = (false, false);
        for effect in std::mem::take(&mut self.held) {
            self.execute_one(effect);
        }
        self.turn();
    }

    fn execute_one(&mut self, effect: Effect) {
        match effect {
            Effect::Persist { ticket, batch } => {
                self.wal.append(&batch).unwrap();
                self.step(Event::Persisted(ticket));
            }
            Effect::Trim(upto) => {
                self.wal.trim(upto).unwrap();
                self.trims.push(upto);
            }
            Effect::Flush { ticket, job } => {
                self.flushes += 1;
                let reader = self.backend.flush(&job).unwrap();
                self.step(Event::Flushed { ticket, reader });
            }
            Effect::Rewrite { ticket, now } => {
                let pace = if now { backend::Pace::Now } else { backend::Pace::Paced };
                let step = self.backend.rewrite_step(pace).unwrap();
                let done = step.is_none();
                let reader = self.backend.reader();
                self.step(Event::Rewritten { ticket, reader, done });
            }
            Effect::Fetch { ticket, reader, revisions } => {
                let records = reader.get_many(&revisions).unwrap();
                let records = records.into_iter().flatten().collect();
                self.step(Event::Fetched { ticket, records });
            }
            Effect::FetchLog { ticket, reader, from, to, bytes_max } => {
                self.log_fetches += 1;
                let entries = reader.entries(from, to, bytes_max).unwrap_or_default();
                self.step(Event::LogFetched { ticket, entries });
            }
            Effect::History { ticket, reader, from, to, bytes_max } => {
                let history = reader.scan(from, to, bytes_max).unwrap();
                let upto = history.next.map_or(to, |next| next - 1);
                let records = history.records;
                self.step(Event::History { ticket, records, upto });
            }
            Effect::Hash { ticket, reader, revision, compacted, is_paced } => {
                self.hashes_paced.push(is_paced);
                let hash = match is_paced {
                    true => reader.hash_compaction(revision, compacted, &mut || {}).unwrap(),
                    false => reader.hash_kv(revision, compacted).unwrap(),
                };
                self.step(Event::Hashed { ticket, hash });
            }
            Effect::Reply { id, header, result, .. } => {
                let before = self.answers.insert(id, result);
                assert_eq!(before, None, "{id:?} is answered once");
                self.headers.insert(id, header);
            }
            Effect::WatchReady(stream) => self.ready.push(stream),
            Effect::Note(note) => self.notes.push(note),
            Effect::Stopped => self.is_stopped = true,
            Effect::Send { to, message, .. } => self.sent.push((to, message)),
            Effect::Fatal(error) => panic!("{error}"),
        }
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> Answer {
        self.ask(put(key, value))
    }

    /// The value of a key, by a linearizable read.
    pub(super) fn get(&mut self, key: &str) -> Option<String> {
        let range =
            RangeOp { range: KeyRange::single(key.as_bytes().to_vec()), ..RangeOp::default() };
        let Ok(Response::Range(outcome)) = self.ask(Request::Range(range)) else {
            panic!("a range is answered");
        };
        let item = outcome.items.first()?;
        let types::outcome::Item::Resident(kv) = item else { panic!("{item:?} is in memory") };
        let kv = proto::mvccpb::KeyValue::decode(kv.clone()).unwrap();
        Some(String::from_utf8(kv.value.to_vec()).unwrap())
    }
}

pub(super) fn put(key: &str, value: &str) -> Request {
    put_with_lease(key, value, 0)
}

pub(super) fn put_with_lease(key: &str, value: &str, lease: i64) -> Request {
    let (key, value) = (key.as_bytes().to_vec().into(), value.as_bytes().to_vec().into());
    let message = PutRequest { key, value, lease, ..PutRequest::default() };
    let cost = 256 + i64::try_from(message.key.len() + message.value.len()).unwrap();
    Request::Write { kind: WriteKind::Put, body: message.encode_to_vec().into(), quota_cost: cost }
}
