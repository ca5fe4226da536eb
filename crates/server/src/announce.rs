//! The lines that a start begins with: the configuration, under etcd's names.

use crate::config::url::Url;
use crate::config::{CompactionMode, Config, duration};
use crate::version;
use serde_json::json;
use std::path::Path;

/// Folder of the member below the data folder.
const MEMBER_DIR: &str = "member";

/// Says what is about to be served. Call it before the data folder is opened.
pub fn starting(config: &Config) {
    let fields = fields(config).to_string();
    tracing::info!(%fields, "starting an etcd server");
}

/// Says that nothing is defragmented at the start, where that was asked for.
pub fn defragmentation(config: &Config) {
    let megabytes = config.bootstrap_defrag_megabytes;
    if megabytes != 0 {
        let bytes = megabytes.saturating_mul(1024 * 1024);
        tracing::info!(bootstrap_defrag_threshold_bytes = bytes, "Skipping defragmentation");
    }
}

fn fields(config: &Config) -> serde_json::Value {
    let member_dir = Path::new(&config.data_dir).join(MEMBER_DIR);
    let (mode, retention) = match config.auto_compaction {
        Some(CompactionMode::Revision(count)) => ("revision", count.to_string()),
        Some(CompactionMode::Periodic(age)) => ("periodic", duration::format(age)),
        None => ("periodic", "0s".to_string()),
    };
    let millis = |millis| duration::format(std::time::Duration::from_millis(millis));
    json!({
        "etcd-version": version::SERVER,
        "git-sha": format!("Mainstay {}", env!("CARGO_PKG_VERSION")),
        "go-version": "none",
        "member-initialized": member_dir.exists(),
        "name": config.name,
        "data-dir": config.data_dir,
        "wal-dir": config.wal_dir.as_deref().unwrap_or_default(),
        "member-dir": member_dir.display().to_string(),
        "heartbeat-interval": millis(config.heartbeat_ms),
        "election-timeout": millis(config.election_ms),
        "snapshot-count": config.snapshot_count,
        "snapshot-catchup-entries": config.snapshot_catchup_entries,
        "initial-advertise-peer-urls": texts(&config.advertise_peer_urls),
        "listen-peer-urls": texts(&config.listen_peer_urls),
        "advertise-client-urls": texts(&config.advertise_client_urls),
        "listen-client-urls": texts(&config.listen_client_urls),
        "listen-metrics-urls": texts(&config.listen_metrics_urls),
        "cors": config.cors,
        "host-whitelist": config.host_whitelist,
        "initial-cluster": config.initial_cluster,
        "initial-cluster-state": if config.initial_cluster_new { "new" } else { "existing" },
        "initial-cluster-token": config.initial_cluster_token,
        "quota-backend-bytes": config.quota_flag,
        "max-request-bytes": config.max_request_bytes,
        "max-concurrent-streams": config.max_concurrent_streams,
        "pre-vote": config.pre_vote,
        "feature-gates": config.feature_gates_flag,
        "auto-compaction-mode": mode,
        "auto-compaction-retention": retention,
        "v2-deprecation": "write-only",
    })
}

fn texts(urls: &[Url]) -> Vec<String> {
    urls.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Start, load};

    #[test]
    fn the_first_line_shows_the_configuration_under_etcds_names() {
        let args = ["--snapshot-catchup-entries", "1000", "--v2-deprecation", "gone"];
        let Start::Serve(config, _) = load(&args.map(str::to_string), &[]) else {
            panic!("these flags are served");
        };
        let line = fields(&config).to_string();
        for part in [
            "\"snapshot-catchup-entries\":1000",
            "\"v2-deprecation\":\"write-only\"",
            "\"election-timeout\":\"1s\"",
            "\"listen-client-urls\":[\"http://localhost:2379\"]",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
