//! Opens the data folder and makes a member of it.

use super::fatal;
use super::mailbox::Mailbox;
use super::metered::MeteredDisk;
use super::space::Space;
use super::threads::{LogWork, Threads};
use super::{flush_thread, helper_thread, log_thread};
use crate::config::initial::texts;
use crate::config::{CompactionMode, Config};
use crate::metrics::Metrics;
use anyhow::Context as _;
use backend::{Backend, Reserve};
use bytes::Bytes;
use member::{AutoCompaction, Founder, Member};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;
use store::Store;
use types::{Index, Time};
use vfs::{Disk, Open, OsDisk};
use wal::{Identity, Wal, WalConfig};

/// Folder of the log below the data folder.
const LOG_DIR: &str = "member/wal";
/// Nice value of the hasher: about a tenth of a core that others want too.
const HASHER_NICE: i32 = 10;
/// Folder of the records below the data folder.
const DATA_DIR: &str = "member/data";

/// Why a start is refused although nothing on the disk failed: exit 65.
#[derive(Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// A member with what its threads own.
pub struct Opened {
    /// The member.
    pub member: Member,
    wal: Wal,
    backend: Backend,
    reserve: Reserve,
    metrics: Metrics,
}

/// Handles of the threads beside the loop.
pub struct Running {
    log: JoinHandle<()>,
    log_work: std::sync::mpsc::Sender<LogWork>,
}

impl Running {
    /// Seals the log and waits for it.
    pub fn close(self) {
        // A log thread that is gone has ended the process.
        let _ = self.log_work.send(LogWork::Close);
        let _ = self.log.join();
    }
}

/// A number that nobody can guess, for salts and seeds.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The disks of a member: locked, and nothing on them looked at yet.
pub struct Folder {
    disk: Arc<dyn Disk>,
    log_disk: Arc<dyn Disk>,
    log_dir: &'static str,
}

impl Folder {
    /// Opens the data folder, and the log's if that lies elsewhere.
    pub fn open(config: &Config) -> anyhow::Result<Folder> {
        let root = Path::new(&config.data_dir);
        let disk: Arc<dyn Disk> = Arc::new(
            OsDisk::open(root)
                .with_context(|| format!("cannot open data-dir {}", root.display()))?,
        );
        let Some(dir) = &config.wal_dir else {
            return Ok(Folder { log_disk: Arc::clone(&disk), disk, log_dir: LOG_DIR });
        };
        let opened =
            OsDisk::open(Path::new(dir)).with_context(|| format!("cannot open wal-dir {dir}"))?;
        Ok(Folder { disk, log_disk: Arc::new(opened), log_dir: "." })
    }

    /// True if no member was ever here: there is no log.
    pub fn is_fresh(&self) -> anyhow::Result<bool> {
        self.log_disk.create_dir(self.log_dir)?;
        Ok(!Wal::exists(&*self.log_disk, self.log_dir)?)
    }
}

/// Opens or creates what the data folder holds. The identity that is stored wins over the one
/// that the flags make, as in etcd.
pub fn open(folder: Folder, config: &mut Config) -> anyhow::Result<Opened> {
    let Folder { disk, log_disk, log_dir } = folder;
    let identity = Identity { cluster: config.cluster_id, member: config.member_id };
    let metrics = Metrics::new(config.extensive_metrics);
    let log_disk = MeteredDisk::around(log_disk, &metrics);
    let bytes = disk_bytes(&disk, &["member", LOG_DIR, DATA_DIR])?;
    let mut reserve = Reserve::open(Arc::clone(&disk), "member", Reserve::bytes_for_disk(bytes))?;
    let log_bytes = match &config.wal_dir {
        None => bytes,
        Some(_) => disk_bytes(&log_disk, &[log_dir])?,
    };
    let (wal, log) = match open_log((&log_disk, log_bytes), log_dir, &disk, identity) {
        Err(error) if is_no_space(&error) => {
            // A start on a full disk: this is what the reserve is for.
            reserve.release_down_to(reserve.held() / 2)?;
            open_log((&log_disk, log_bytes), log_dir, &disk, identity)?
        }
        other => other?,
    };
    (config.cluster_id, config.member_id) = (log.identity.cluster, log.identity.member);
    if let Some(cut) = &log.cut {
        tracing::error!(
            file = %cut.file,
            offset = cut.offset,
            bytes = cut.bytes,
            reason = cut.reason,
            last_index = cut.last.0,
            kept_as = cut.broken.as_deref().unwrap_or_default(),
            "cut an incomplete last batch off the log"
        );
    }
    let (backend, mut recovered) = open_backend(&disk, bytes, log.base.index)?;
    if let Some(cut) = &recovered.cut {
        let (file, offset, reason) = (&cut.file, cut.offset, &cut.reason);
        tracing::warn!(%file, offset, %reason, "cut an incomplete last flush; the log has it");
    }
    reserve.refill(reserve.margin())?;
    let store = Store::restore(store_config(config), &mut recovered)?;
    let mut member =
        Member::new(member_config(config, bytes, log.boot), log, store, Time::default())?;
    member.read_log_with(wal.reader());
    Ok(Opened { member, wal, backend, reserve, metrics })
}

/// What the disk holds for us: what is free, and the files in our folders.
fn disk_bytes(disk: &Arc<dyn Disk>, folders: &[&str]) -> anyhow::Result<u64> {
    let mut bytes = disk.available()?;
    for folder in folders {
        let Ok(names) = disk.list(folder) else { continue };
        for name in names {
            // Folders are among the names.
            let file = disk.open(&format!("{folder}/{name}"), Open::Read);
            bytes += file.and_then(|file| file.len()).unwrap_or(0);
        }
    }
    Ok(bytes)
}

fn is_no_space(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<wal::Error>(), Some(wal::Error::NoSpace(_)))
}

fn open_log(
    (disk, bytes): (&Arc<dyn Disk>, u64),
    dir: &str,
    data_disk: &Arc<dyn Disk>,
    identity: Identity,
) -> anyhow::Result<(Wal, wal::Recovered)> {
    disk.create_dir(dir)?;
    let (disk, config) = (Arc::clone(disk), WalConfig::for_disk(bytes, random()));
    if Wal::exists(&*disk, dir)? {
        return Ok(Wal::open(disk, dir, config, None)?);
    }
    let has_data = matches!(data_disk.list(DATA_DIR), Ok(names) if !names.is_empty());
    if has_data {
        return Err(Refusal(format!(
            "{DATA_DIR} holds data, but there is no log beside it: acknowledged writes may be \
             missing. Put the log back (--wal-dir), or restore the data directory from a backup"
        ))
        .into());
    }
    Ok(Wal::create(disk, dir, config, identity, Bytes::new())?)
}

fn open_backend(
    disk: &Arc<dyn Disk>,
    bytes: u64,
    log_base: Index,
) -> anyhow::Result<(Backend, backend::Recovered)> {
    let config = backend::Config::for_disk(bytes, random());
    match Backend::open(Arc::clone(disk), DATA_DIR, config.clone()) {
        Err(backend::Error::Missing { .. }) if log_base == Index(0) => {
            Ok(Backend::create(Arc::clone(disk), DATA_DIR, config)?)
        }
        other => Ok(other?),
    }
}

fn store_config(config: &Config) -> store::Config {
    let mut made = store::Config { quota_bytes: quota(config), ..store::Config::default() };
    made.mvcc.resident_bytes = config.resident_bytes;
    made.watch.fragment_bytes = config.max_request_bytes + types::limits::GRPC_OVERHEAD_BYTES;
    made
}

fn quota(config: &Config) -> i64 {
    config.quota_bytes.unwrap_or(-1)
}

fn member_config(config: &Config, bytes: u64, boot: u64) -> member::Config {
    let mut made = member::Config::new(config.member_id, config.cluster_id, boot);
    made.name.clone_from(&config.name);
    made.peer_urls = texts(&config.advertise_peer_urls);
    made.client_urls = texts(&config.advertise_client_urls);
    made.founders = config
        .founders
        .iter()
        .map(|founder| Founder { id: founder.id, peer_urls: texts(&founder.urls) })
        .collect();
    made.seed = random();
    made.heartbeat = Duration::from_millis(config.heartbeat_ms);
    made.election = Duration::from_millis(config.election_ms);
    made.pre_vote = config.pre_vote;
    made.joins = config.joins;
    made.request_bytes_max = config.max_request_bytes;
    made.catch_up_entries = config.snapshot_catchup_entries;
    made.auto_compaction = config.auto_compaction.map(|mode| match mode {
        CompactionMode::Periodic(age) => AutoCompaction::Periodic(age),
        CompactionMode::Revision(count) => AutoCompaction::Revision(count),
    });
    // A small disk has a small reserve, which a job must fit.
    let part = usize::try_from(bytes / 32).unwrap_or(usize::MAX);
    made.flush_bytes = made.flush_bytes.min(part);
    made.flush_log_bytes = made.flush_log_bytes.min(bytes / 32);
    made.progress_interval = config.progress_interval;
    made
}

impl Opened {
    /// Starts the threads; what is left is the member.
    pub fn start(self, mailbox: &Arc<Mailbox>) -> anyhow::Result<(Member, Threads, Running)> {
        let (log, log_work) = channel();
        let (flush, flush_work) = channel();
        let (helper, helper_work) = channel();
        let (scanner, scanner_work) = channel();
        let (hasher, hasher_work) = channel();
        let (paced, paced_work) = channel();
        let (wal, backend, reserve) = (self.wal, self.backend, self.reserve);
        let metrics = self.metrics;
        let space = Space::new(Arc::clone(mailbox));
        let mail = (Arc::clone(mailbox), space.clone());
        let thread = spawn("log", move || log_thread::run(wal, &log_work, mail))?;
        let (mail, count) = ((Arc::clone(mailbox), space), metrics.clone());
        spawn("flush", move || flush_thread::run(backend, reserve, &flush_work, mail, count))?;
        let hurry = Arc::new(AtomicBool::new(false));
        let helpers = [
            ("helper", helper_work, false),
            ("scanner", scanner_work, false),
            ("hasher", hasher_work, true),
            ("paced", paced_work, true),
        ];
        for (name, work, yields) in helpers {
            let (mail, hurry) = (Arc::clone(mailbox), Arc::clone(&hurry));
            spawn(name, move || {
                if yields {
                    yield_to_others();
                }
                helper_thread::run(&work, &mail, &hurry);
            })?;
        }
        let running = Running { log: thread, log_work: log.clone() };
        let threads = Threads { log, flush, helper, scanner, hasher, paced, hurry, metrics };
        Ok((self.member, threads, running))
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_string());
    thread.spawn(work).with_context(|| format!("cannot start thread {name}"))
}

/// Lowers this thread's priority: a hash of everything has time.
fn yield_to_others() {
    // Linux gives a nice value to each thread. Without it the hash only costs more.
    let _ = rustix::process::setpriority_process(None, HASHER_NICE);
}

/// The exit code for an error of `open`, which is logged here.
pub fn report(error: &anyhow::Error) -> i32 {
    tracing::error!(error = %format_args!("{error:#}"), "cannot start");
    fatal::exit_code(error)
}
