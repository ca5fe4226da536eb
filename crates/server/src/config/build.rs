//! From texts of flags to typed settings.

use super::args::{self, Values};
use super::duration;
use super::flags;
use super::identity;
use super::url::{self, Url};
use std::collections::BTreeMap;
use std::time::Duration;
use types::{ClusterId, MemberId, limits};

/// How old revisions are compacted without being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactionMode {
    /// Keep what is younger than this.
    Periodic(Duration),
    /// Keep this many revisions.
    Revision(i64),
}

/// Automatic compaction; `None` in `Config` when off.
pub type Compaction = CompactionMode;

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
    /// Applied entries between trims of the log.
    pub snapshot_count: u64,
    /// Entries kept in the log for slow followers.
    pub snapshot_catchup_entries: u64,
    /// Bytes of values kept in memory.
    pub resident_bytes: usize,
    /// Automatic compaction.
    pub auto_compaction: Option<Compaction>,
    /// Keys looked at in one slice of a compaction.
    pub compaction_batch: usize,
    /// Pause between slices of a compaction.
    pub compaction_pause: Duration,
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
    /// Listen with SO_REUSEADDR.
    pub reuse_address: bool,
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
    /// The election timeout's and heartbeat's places in messages need the raw logger name.
    pub(super) logger: String,
}

struct Reader<'a>(&'a Values);

impl Reader<'_> {
    fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(value) => value,
            None => flags::find(name).expect("every name read here is in the table").default,
        }
    }

    fn bool(&self, name: &str) -> bool {
        args::parse_bool(self.text(name)).expect("checked when it was read")
    }

    fn uint(&self, name: &str) -> u64 {
        self.text(name).parse().expect("checked when it was read")
    }

    fn size(&self, name: &str) -> usize {
        usize::try_from(self.uint(name)).unwrap_or(usize::MAX)
    }

    fn int(&self, name: &str) -> i64 {
        self.text(name).parse().expect("checked when it was read")
    }

    fn duration(&self, name: &str) -> Duration {
        duration::parse(self.text(name)).expect("checked when it was read")
    }

    fn urls(&self, name: &str) -> Vec<Url> {
        url::parse_list(self.text(name)).expect("checked when it was read")
    }

    fn list(&self, name: &str) -> Vec<String> {
        let parts = self.text(name).split(',').map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_string).collect()
    }

    fn or_default<T: PartialEq + Default>(value: T, default: T) -> T {
        if value == T::default() { default } else { value }
    }
}

/// Builds the settings; the error is etcd's text where etcd has one.
pub(super) fn build(values: &Values) -> Result<Config, String> {
    let read = Reader(values);
    let name = read.text("name").to_string();
    let advertise_peer_urls = read.urls("initial-advertise-peer-urls");
    let token = read.text("initial-cluster-token").to_string();
    let initial_cluster = initial_cluster(&read, &name, &advertise_peer_urls);
    let member_urls = own_urls(&initial_cluster, &name, &advertise_peer_urls)?;
    let member_id = identity::member_id(&member_urls, &token);
    let advertise_missing =
        values.contains_key("listen-client-urls") && !values.contains_key("advertise-client-urls");
    let quota_flag = read.int("quota-backend-bytes");
    let mode = read.text("auto-compaction-mode");
    let retention = read.text("auto-compaction-retention");
    Ok(Config {
        data_dir: match read.text("data-dir") {
            "" => format!("{name}.etcd"),
            dir => dir.to_string(),
        },
        name,
        wal_dir: Some(read.text("wal-dir").to_string()).filter(|dir| !dir.is_empty()),
        listen_client_urls: read.urls("listen-client-urls"),
        listen_client_http_urls: read.urls("listen-client-http-urls"),
        listen_metrics_urls: read.urls("listen-metrics-urls"),
        listen_peer_urls: read.urls("listen-peer-urls"),
        advertise_client_urls: read.urls("advertise-client-urls"),
        advertise_peer_urls,
        initial_cluster,
        initial_cluster_new: read.text("initial-cluster-state") == "new",
        cluster_id: identity::cluster_id(&[member_id]),
        member_id,
        initial_cluster_token: token,
        heartbeat_ms: read.uint("heartbeat-interval"),
        election_ms: read.uint("election-timeout"),
        pre_vote: read.bool("pre-vote"),
        quota_bytes: match quota_flag {
            0 => Some(limits::QUOTA_BYTES_DEFAULT),
            quota if quota < 0 => None,
            quota => Some(quota),
        },
        quota_flag: Reader::or_default(quota_flag, limits::QUOTA_BYTES_DEFAULT),
        max_request_bytes: read.size("max-request-bytes"),
        max_txn_ops: read.size("max-txn-ops"),
        max_concurrent_streams: read.text("max-concurrent-streams").parse().unwrap_or(u32::MAX),
        keepalive_min_time: read.duration("grpc-keepalive-min-time"),
        keepalive_interval: read.duration("grpc-keepalive-interval"),
        keepalive_timeout: read.duration("grpc-keepalive-timeout"),
        snapshot_count: read.uint("snapshot-count"),
        snapshot_catchup_entries: read.uint("snapshot-catchup-entries"),
        resident_bytes: Reader::or_default(
            read.size("resident-bytes"),
            limits::RESIDENT_BYTES_DEFAULT,
        ),
        auto_compaction: compaction(mode, retention)?,
        compaction_batch: match read.int("compaction-batch-limit") {
            limit if limit <= 0 => 1000,
            limit => usize::try_from(limit).unwrap_or(usize::MAX),
        },
        compaction_pause: Reader::or_default(
            read.duration("compaction-sleep-interval"),
            Duration::from_millis(10),
        ),
        progress_interval: Reader::or_default(
            read.duration("watch-progress-notify-interval"),
            Duration::from_secs(600),
        )
        .max(Duration::from_millis(100)),
        warn_apply: read.duration("warning-apply-duration"),
        warn_unary: Reader::or_default(
            read.duration("warning-unary-request-duration"),
            Duration::from_millis(300),
        ),
        bootstrap_defrag_megabytes: read.uint("bootstrap-defrag-threshold-megabytes"),
        extensive_metrics: read.text("metrics") == "extensive",
        cors: read.list("cors"),
        host_whitelist: read.list("host-whitelist"),
        log_outputs: read.list("log-outputs"),
        log_level: read.text("log-level").to_string(),
        log_json: read.text("log-format") != "console",
        reuse_port: read.bool("socket-reuse-port"),
        reuse_address: read.bool("socket-reuse-address"),
        feature_gates: args::parse_gates(read.text("feature-gates"))?,
        feature_gates_flag: read.text("feature-gates").to_string(),
        advertise_missing,
        auto_compaction_mode: mode.to_string(),
        auto_compaction_retention: retention.to_string(),
        logger: read.text("logger").to_string(),
    })
}

/// Follows name and peer URLs when it is not given.
fn initial_cluster(read: &Reader<'_>, name: &str, peers: &[Url]) -> String {
    match read.text("initial-cluster") {
        "" => peers.iter().map(|url| format!("{name}={url}")).collect::<Vec<_>>().join(","),
        given => given.to_string(),
    }
}

/// The URLs of this member in the first configuration.
fn own_urls(cluster: &str, name: &str, advertised: &[Url]) -> Result<Vec<Url>, String> {
    let mut own = Vec::new();
    let mut others = Vec::new();
    for part in cluster.split(',').filter(|part| !part.trim().is_empty()) {
        let (who, url) = part.trim().split_once('=').unwrap_or(("", part.trim()));
        let url = Url::parse(url)?;
        if who == name { own.push(url) } else { others.push(who.to_string()) }
    }
    if own.is_empty() {
        return Err(format!(
            "couldn't find local name \"{name}\" in the initial cluster configuration"
        ));
    }
    if !others.is_empty() {
        return Err(format!(
            "--initial-cluster names other members ({}): this build runs clusters of one member",
            others.join(", ")
        ));
    }
    own.sort_by_key(ToString::to_string);
    let mut advertised = advertised.to_vec();
    advertised.sort_by_key(ToString::to_string);
    if own != advertised {
        let list = |urls: &[Url]| {
            urls.iter().map(|url| format!("{name}={url}")).collect::<Vec<_>>().join(",")
        };
        return Err(format!(
            "--initial-cluster has {} but missing from --initial-advertise-peer-urls={}",
            list(&own),
            advertised.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        ));
    }
    Ok(own)
}

fn compaction(mode: &str, retention: &str) -> Result<Option<Compaction>, String> {
    match mode {
        "periodic" => {
            let parsed = match retention.parse::<u64>() {
                Ok(hours) => Some(Duration::from_secs(hours.saturating_mul(3600))),
                Err(_) => duration::parse(retention),
            };
            let keep = parsed.ok_or_else(|| {
                format!(
                    "error parsing auto-compaction-retention: time: invalid duration \
                     \"{retention}\""
                )
            })?;
            Ok((!keep.is_zero()).then_some(CompactionMode::Periodic(keep)))
        }
        "revision" => {
            let keep: i64 = match retention.parse() {
                Ok(keep) => keep,
                Err(_) => duration::parse(retention)
                    .and_then(|d| i64::try_from(d.as_nanos()).ok())
                    .ok_or_else(|| {
                        format!(
                            "error parsing auto-compaction-retention: time: invalid duration \
                             \"{retention}\""
                        )
                    })?,
            };
            Ok((keep > 0).then_some(CompactionMode::Revision(keep)))
        }
        // The order of checks names the mode later.
        _ => Ok(None),
    }
}
