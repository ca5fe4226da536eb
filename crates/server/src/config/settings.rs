//! The typed settings of a server.

use super::flags;
use super::initial::Founder;
use super::url::Url;
use std::collections::BTreeMap;
use std::time::Duration;
use types::{ClusterId, MemberId};

/// How old revisions are compacted without being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactionMode {
    /// Keep what is younger than this.
    Periodic(Duration),
    /// Keep this many revisions.
    Revision(i64),
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of this member.
    pub name: String,
    /// Folder of the data.
    pub data_dir: String,
    /// Folder of the write-ahead log, if it lies elsewhere.
    pub wal_dir: Option<String>,
    /// Where clients are listened for.
    pub listen_client_urls: Vec<Url>,
    /// Where HTTP is served, apart from gRPC; empty: on the client URLs.
    pub listen_client_http_urls: Vec<Url>,
    /// Where metrics and health are served as well.
    pub listen_metrics_urls: Vec<Url>,
    /// Where peers are listened for.
    pub listen_peer_urls: Vec<Url>,
    /// Where clients reach this member.
    pub advertise_client_urls: Vec<Url>,
    /// Where peers reach this member.
    pub advertise_peer_urls: Vec<Url>,
    /// The first configuration as given.
    pub initial_cluster: String,
    /// Its members.
    pub founders: Vec<Founder>,
    /// True for a cluster that shall be new.
    pub initial_cluster_new: bool,
    /// Sets clusters of equal URLs apart.
    pub initial_cluster_token: String,
    /// This member's id, from URLs and token.
    pub member_id: MemberId,
    /// The cluster's id, from its members.
    pub cluster_id: ClusterId,
    /// Milliseconds between heartbeats.
    pub heartbeat_ms: u64,
    /// Milliseconds without a leader before an election.
    pub election_ms: u64,
    /// Ask before an election.
    pub pre_vote: bool,
    /// A fresh folder joins a running cluster.
    pub joins: bool,
    /// Bytes of data before writes are refused; `None` is without bound.
    pub quota_bytes: Option<i64>,
    /// The quota as given, for Status.
    pub quota_flag: i64,
    /// Largest request in bytes.
    pub max_request_bytes: usize,
    /// Most operations in each list of a transaction.
    pub max_txn_ops: usize,
    /// Most streams on one connection.
    pub max_concurrent_streams: u32,
    /// Least time between pings of a client.
    pub keepalive_min_time: Duration,
    /// Time between pings to a client; zero is off.
    pub keepalive_interval: Duration,
    /// Time to wait for the answer to a ping; zero is off.
    pub keepalive_timeout: Duration,
    /// Applied entries between snapshots of etcd; here only a line in the log.
    pub snapshot_count: u64,
    /// Entries kept in the log for slow followers.
    pub snapshot_catchup_entries: u64,
    /// Bytes of values kept in memory.
    pub resident_bytes: usize,
    /// Automatic compaction; `None` when off.
    pub auto_compaction: Option<CompactionMode>,
    /// Time between progress notices of a watcher.
    pub progress_interval: Duration,
    /// Warn of slower applies.
    pub warn_apply: Duration,
    /// Warn of slower requests.
    pub warn_unary: Duration,
    /// Megabytes of garbage that etcd would defragment for at start; here only a line in the log.
    pub bootstrap_defrag_megabytes: u64,
    /// Histograms per RPC.
    pub extensive_metrics: bool,
    /// Origins allowed for HTTP.
    pub cors: Vec<String>,
    /// Hosts allowed in HTTP requests.
    pub host_whitelist: Vec<String>,
    /// Where log lines go.
    pub log_outputs: Vec<String>,
    /// Least level that is logged.
    pub log_level: String,
    /// True for JSON lines, false for a console.
    pub log_json: bool,
    /// Listen with SO_REUSEPORT.
    pub reuse_port: bool,
    /// All feature gates with their states.
    pub feature_gates: BTreeMap<&'static str, bool>,
    /// The gates as given.
    pub feature_gates_flag: String,
    /// True if `--advertise-client-urls` is missing beside `--listen-client-urls`.
    pub(super) advertise_missing: bool,
    /// The mode's text, for messages.
    pub(super) auto_compaction_mode: String,
    /// The retention's text, for messages.
    pub(super) auto_compaction_retention: String,
    /// The kind of logger as given, for messages.
    pub(super) logger: String,
}

impl Config {
    /// Name, stage and state of every feature gate.
    pub fn gates(&self) -> Vec<(&'static str, &'static str, bool)> {
        let state = |name| self.feature_gates.get(name).copied();
        flags::GATES
            .iter()
            .map(|(name, stage, default)| (*name, *stage, state(name).unwrap_or(*default)))
            .collect()
    }
}
