//! One life of the process: log, backend and member, with the queues of its threads.

use crate::host::members;
use crate::mutant::{self, Mutant};
use crate::report::Violation;
use crate::swarm::Swarm;
use bytes::Bytes;
use member::request::Ticket;
use member::{Config, Founder, Member};
use std::collections::VecDeque;
use std::sync::Arc;
use store::Store;
use types::{ClusterId, Index, MemberId, Revision, Time};
use vfs::Disk;
use vfs::sim::SimDisk;

const CLUSTER: ClusterId = ClusterId(0xcdf8_18d3_e2b1_4c0e);

/// Work of the log thread.
#[derive(Debug)]
pub(crate) enum LogJob {
    Persist { ticket: Ticket, batch: wal::Batch },
    Trim(Index),
}

/// Work of the flush thread.
#[derive(Debug)]
pub(crate) enum FlushJob {
    Flush { ticket: Ticket, job: backend::FlushJob },
    Rewrite { ticket: Ticket, now: bool },
}

/// Work of a helper thread.
#[derive(Debug)]
pub(crate) enum HelperJob {
    Fetch { ticket: Ticket, reader: backend::Reader, revisions: Vec<Revision> },
    History { ticket: Ticket, reader: backend::Reader, from: i64, to: i64, bytes_max: usize },
    FetchLog { ticket: Ticket, reader: wal::Reader, from: Index, to: Index, bytes_max: usize },
    Hash { ticket: Ticket, reader: backend::Reader, revision: i64, compacted: i64 },
}

/// A running process.
pub(crate) struct Process {
    pub(crate) member: Member,
    pub(crate) wal: wal::Wal,
    pub(crate) backend: backend::Backend,
    pub(crate) log_jobs: VecDeque<LogJob>,
    pub(crate) flush_jobs: VecDeque<FlushJob>,
    /// True once the member published itself: clients are served.
    pub(crate) is_ready: bool,
    /// A turn is scheduled.
    pub(crate) has_turn: bool,
    /// The tick that is scheduled.
    pub(crate) tick_at: Option<Time>,
    /// Number of the last append, to tell an idle log.
    pub(crate) appends: u64,
}

/// Why a start came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The disk failed, by a fault: the process ends with code 74.
    Disk,
    /// The disk is full.
    NoSpace,
    /// What is stored was refused, with code 65.
    Refused(String),
    /// What a start may never find.
    Violation(Violation),
}

impl From<wal::Error> for Failure {
    fn from(error: wal::Error) -> Failure {
        match error {
            wal::Error::Vfs(_) => Failure::Disk,
            wal::Error::NoSpace(_) => Failure::NoSpace,
            other => Failure::Refused(other.to_string()),
        }
    }
}

impl From<backend::Error> for Failure {
    fn from(error: backend::Error) -> Failure {
        match error {
            backend::Error::Vfs(_) => Failure::Disk,
            backend::Error::NoSpace(_) => Failure::NoSpace,
            other => Failure::Refused(other.to_string()),
        }
    }
}

/// How a process is started.
pub(crate) struct Start<'a> {
    pub(crate) member: MemberId,
    pub(crate) disk: &'a SimDisk,
    pub(crate) swarm: &'a Swarm,
    pub(crate) seed: u64,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) now: Time,
}

/// What the log held at a start.
pub(crate) struct Found {
    pub(crate) log: wal::Recovered,
    pub(crate) applied: u64,
}

impl Start<'_> {
    fn settings(&self) -> (Config, wal::WalConfig, backend::Config, store::Config) {
        let swarm = self.swarm;
        let mut config = Config::new(self.member, CLUSTER, 0);
        config.seed = self.seed;
        let founder = |id: &MemberId| Founder { id: *id, peer_urls: vec![format!("http://{id}")] };
        config.founders = members(swarm.members).iter().map(founder).collect();
        config.heartbeat = swarm.heartbeat;
        config.election = swarm.election;
        config.log_bytes_max = swarm.log_bytes_max;
        config.flush_bytes = swarm.flush_bytes;
        config.flush_interval = swarm.flush_interval;
        config.unflushed_bytes_max = swarm.unflushed_bytes_max;
        config.progress_interval = swarm.flush_interval * 2;
        let mut log = wal::WalConfig::new(self.seed);
        log.segment_bytes = swarm.wal_segment_bytes;
        let mut data = backend::Config {
            segment_bytes: swarm.backend_segment_bytes,
            salt: self.seed,
            ..backend::Config::default()
        };
        mutant::plant(self.mutant, &mut config, &mut log, &mut data);
        let mvcc =
            mvcc::Config { resident_bytes: swarm.resident_bytes, recent_bytes: swarm.recent_bytes };
        let store = store::Config { mvcc, ..store::Config::default() };
        (config, log, data, store)
    }

    /// The settings of the log, for a look at an image of the disk.
    pub(crate) fn log_settings(&self) -> wal::WalConfig {
        self.settings().1
    }

    /// Opens what is on the disk, or creates it.
    pub(crate) fn open(&self) -> Result<(Process, Found), Failure> {
        let (mut config, log_config, data_config, store_config) = self.settings();
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let has_log = wal::Wal::exists(&*disk, "wal").unwrap_or(false);
        let opened = backend::Backend::open(disk.clone(), "db", data_config.clone());
        let (backend, mut recovered) = match opened {
            Err(backend::Error::Missing { .. }) if !has_log => {
                backend::Backend::create(disk.clone(), "db", data_config)?
            }
            other => other?,
        };
        let identity = wal::Identity { cluster: CLUSTER, member: self.member };
        let (wal, log) = if has_log {
            wal::Wal::open(disk, "wal", log_config, Some(identity))?
        } else if recovered.meta.applied == Index(0) {
            wal::Wal::create(disk, "wal", log_config, identity, Bytes::new())?
        } else {
            return Err(Failure::Refused("the log is missing".to_owned()));
        };
        let order = crate::invariant::state_order::check(&recovered.meta, &log);
        let store = Store::restore(store_config, &mut recovered).map_err(|error| match error {
            store::Error::Backend(error) => Failure::from(error),
            other => Failure::Refused(other.to_string()),
        })?;
        let found = Found { log: log.clone(), applied: store.applied().0 };
        config.boot = log.boot;
        let member = Member::new(config, log, store, self.now);
        // A log that ends before the data is a violation unless the start refuses it.
        let mut member = member.map_err(|error| Failure::Refused(error.to_string()))?;
        member.read_log_with(wal.reader());
        order.map_err(Failure::Violation)?;
        let process = Process {
            member,
            wal,
            backend,
            log_jobs: VecDeque::new(),
            flush_jobs: VecDeque::new(),
            is_ready: false,
            has_turn: false,
            tick_at: None,
            appends: 0,
        };
        Ok((process, found))
    }
}
