//! From texts of flags to typed settings.

use super::args::{self, Values};
use super::settings::{CompactionMode, Config};
use super::url::{self, Url};
use super::{duration, flags, initial};
use std::time::Duration;
use types::{MemberId, limits};

/// What a flag of 0 means, and the least that another value is raised to.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(600);
const PROGRESS_INTERVAL_MIN: Duration = Duration::from_millis(100);
const WARN_UNARY: Duration = Duration::from_millis(300);

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

    /// A duration of which zero means `default`.
    fn duration_or(&self, name: &str, default: Duration) -> Duration {
        Some(self.duration(name)).filter(|value| !value.is_zero()).unwrap_or(default)
    }
}

/// Builds the settings; the error is etcd's text where etcd has one.
pub(super) fn build(values: &Values) -> Result<Config, String> {
    let read = Reader(values);
    let name = read.text("name").to_string();
    let advertise_peer_urls = read.urls("initial-advertise-peer-urls");
    let token = read.text("initial-cluster-token").to_string();
    let initial_cluster =
        initial::cluster(read.text("initial-cluster"), &name, &advertise_peer_urls);
    let founders = initial::parse(&initial_cluster, &token)?;
    let own = founders.iter().find(|founder| founder.name == name);
    Ok(Config {
        // Where its data lies.
        data_dir: data_dir(read.text("data-dir"), &name),
        wal_dir: Some(read.text("wal-dir").to_string()).filter(|dir| !dir.is_empty()),

        // Who it is, and in which cluster.
        member_id: own.map_or(MemberId(0), |own| own.id),
        name,
        cluster_id: initial::cluster_id(&founders),
        founders,
        initial_cluster,
        joins: read.text("initial-cluster-state") == "existing",
        initial_cluster_new: read.text("initial-cluster-state") == "new",
        initial_cluster_token: token,
        heartbeat_ms: read.uint("heartbeat-interval"),
        election_ms: read.uint("election-timeout"),
        pre_vote: read.bool("pre-vote"),

        // Where it listens, and where it is reached.
        listen_client_urls: read.urls("listen-client-urls"),
        listen_client_http_urls: read.urls("listen-client-http-urls"),
        listen_metrics_urls: read.urls("listen-metrics-urls"),
        listen_peer_urls: read.urls("listen-peer-urls"),
        advertise_client_urls: read.urls("advertise-client-urls"),
        advertise_peer_urls,
        advertise_missing: values.contains_key("listen-client-urls")
            && !values.contains_key("advertise-client-urls"),
        reuse_port: read.bool("socket-reuse-port"),
        cors: read.list("cors"),
        host_whitelist: read.list("host-whitelist"),

        // What clients may do.
        quota_bytes: quota(read.int("quota-backend-bytes")),
        quota_flag: quota_of_status(read.int("quota-backend-bytes")),
        max_request_bytes: read.size("max-request-bytes"),
        max_txn_ops: read.size("max-txn-ops"),
        max_concurrent_streams: read.text("max-concurrent-streams").parse().unwrap_or(u32::MAX),
        keepalive_min_time: read.duration("grpc-keepalive-min-time"),
        keepalive_interval: read.duration("grpc-keepalive-interval"),
        keepalive_timeout: read.duration("grpc-keepalive-timeout"),
        progress_interval: read
            .duration_or("watch-progress-notify-interval", PROGRESS_INTERVAL)
            .max(PROGRESS_INTERVAL_MIN),

        // What it keeps, in memory and on disk.
        resident_bytes: resident_bytes(read.size("resident-bytes")),
        snapshot_count: read.uint("snapshot-count"),
        snapshot_catchup_entries: read.uint("snapshot-catchup-entries"),
        bootstrap_defrag_megabytes: read.uint("bootstrap-defrag-threshold-megabytes"),
        auto_compaction: compaction(
            read.text("auto-compaction-mode"),
            read.text("auto-compaction-retention"),
        )?,
        auto_compaction_mode: read.text("auto-compaction-mode").to_string(),
        auto_compaction_retention: read.text("auto-compaction-retention").to_string(),

        // What it tells.
        warn_apply: read.duration("warning-apply-duration"),
        warn_unary: read.duration_or("warning-unary-request-duration", WARN_UNARY),
        extensive_metrics: read.text("metrics") == "extensive",
        logger: read.text("logger").to_string(),
        log_outputs: read.list("log-outputs"),
        log_level: read.text("log-level").to_string(),
        log_json: read.text("log-format") != "console",

        feature_gates: args::parse_gates(read.text("feature-gates"))?,
        feature_gates_flag: read.text("feature-gates").to_string(),
    })
}

fn data_dir(given: &str, name: &str) -> String {
    match given {
        "" => format!("{name}.etcd"),
        dir => dir.to_string(),
    }
}

/// 0 is the default, less is without bound.
fn quota(flag: i64) -> Option<i64> {
    match flag {
        0 => Some(limits::QUOTA_BYTES_DEFAULT),
        quota if quota < 0 => None,
        quota => Some(quota),
    }
}

/// What Status says of the quota: a negative one as it was given.
fn quota_of_status(flag: i64) -> i64 {
    if flag == 0 { limits::QUOTA_BYTES_DEFAULT } else { flag }
}

fn resident_bytes(flag: usize) -> usize {
    if flag == 0 { limits::RESIDENT_BYTES_DEFAULT } else { flag }
}

fn compaction(mode: &str, retention: &str) -> Result<Option<CompactionMode>, String> {
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
