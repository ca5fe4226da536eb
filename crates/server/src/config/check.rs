//! Combinations that are refused (contract §4.6), in etcd's order and words.

use super::Line;
use super::duration;
use super::settings::Config;
use super::url::Url;

const ELECTION_MS_MAX: u64 = 50_000;
const REQUEST_BYTES_ADVISED: usize = 10 * 1024 * 1024;
const QUOTA_BYTES_ADVISED: i64 = 8 * 1024 * 1024 * 1024;

/// Refuses what cannot work.
pub(super) fn check(config: &Config) -> Result<(), String> {
    if config.logger != "zap" {
        return Err(format!("unknown logger option \"{}\"", config.logger));
    }
    let levels = ["debug", "info", "warn", "error", "dpanic", "panic", "fatal"];
    if !levels.contains(&config.log_level.as_str()) {
        return Err(format!("unrecognized level: \"{}\"", config.log_level));
    }
    for urls in [
        &config.listen_peer_urls,
        &config.listen_client_urls,
        &config.listen_client_http_urls,
        &config.listen_metrics_urls,
    ] {
        urls.iter().try_for_each(Url::check_bindable)?;
    }
    check_advertised(config)?;
    check_timing(config)?;
    if config.advertise_missing {
        return Err("--advertise-client-urls is required when --listen-client-urls is set \
                    explicitly"
            .to_string());
    }
    match config.auto_compaction_mode.as_str() {
        "periodic" | "revision" => {}
        "" => return Err("undefined auto-compaction-mode".to_string()),
        mode => return Err(format!("unknown auto-compaction-mode \"{mode}\"")),
    }
    let gate = |name| config.feature_gates.get(name).copied().unwrap_or(false);
    if gate("LeaseCheckpointPersist") && !gate("LeaseCheckpoint") {
        return Err("enabling feature gate LeaseCheckpointPersist requires enabling feature gate \
                    LeaseCheckpoint"
            .to_string());
    }
    check_clear_text(config)
}

fn check_advertised(config: &Config) -> Result<(), String> {
    let list = |urls: &[Url]| {
        let texts: Vec<_> = urls.iter().map(ToString::to_string).collect();
        texts.join(",")
    };
    let peers = &config.advertise_peer_urls;
    peers.iter().try_for_each(Url::check_advertisable).map_err(|why| {
        format!("--initial-advertise-peer-urls \"{}\" must be \"host:port\" ({why})", list(peers))
    })?;
    let clients = &config.advertise_client_urls;
    clients.iter().try_for_each(Url::check_advertisable).map_err(|why| {
        format!(
            "--advertise-client-urls \"{}\" must be in the format \"host:port\", \
             \"unix:/path/to/socket\" or \"unixs:/path/to/socket\" ({why})",
            list(clients)
        )
    })
}

fn check_timing(config: &Config) -> Result<(), String> {
    let (heartbeat, election) = (config.heartbeat_ms, config.election_ms);
    if heartbeat == 0 {
        return Err(format!("--heartbeat-interval must be >0 (set to {heartbeat}ms)"));
    }
    if election == 0 {
        return Err(format!("--election-timeout must be >0 (set to {election}ms)"));
    }
    if election < heartbeat.saturating_mul(5) {
        return Err(format!(
            "--election-timeout[{election}ms] should be at least as 5 times as \
             --heartbeat-interval[{heartbeat}ms]"
        ));
    }
    if election > ELECTION_MS_MAX {
        return Err(format!(
            "--election-timeout[{election}ms] is too long, and should be set less than \
             {ELECTION_MS_MAX}ms"
        ));
    }
    Ok(())
}

/// Never plain text where TLS was asked for.
fn check_clear_text(config: &Config) -> Result<(), String> {
    let all = [
        ("--listen-client-urls", &config.listen_client_urls),
        ("--listen-client-http-urls", &config.listen_client_http_urls),
        ("--listen-metrics-urls", &config.listen_metrics_urls),
        ("--listen-peer-urls", &config.listen_peer_urls),
        ("--advertise-client-urls", &config.advertise_client_urls),
        ("--initial-advertise-peer-urls", &config.advertise_peer_urls),
    ];
    for (flag, urls) in all {
        if let Some(url) = urls.iter().find(|url| url.is_tls()) {
            return Err(format!(
                "{flag}: {url}: this build has no TLS yet; use http:// or unix://"
            ));
        }
    }
    for url in &config.listen_client_http_urls {
        if config.listen_client_urls.contains(url) {
            return Err(format!(
                "{url}: both in --listen-client-urls and --listen-client-http-urls"
            ));
        }
    }
    Ok(())
}

/// What is worth a warning.
pub(super) fn warnings(config: &Config) -> Vec<Line> {
    let mut lines = Vec::new();
    if config.listen_client_http_urls.is_empty() {
        lines.push(Line::warn(
            "Running http and grpc server on single port. This is not recommended for production.",
            vec![],
        ));
    }
    if config.name == "default" {
        lines.push(Line::warn(
            "it isn't recommended to use default name, please set a value for --name",
            vec![("name", config.name.clone())],
        ));
    }
    if config.max_request_bytes > REQUEST_BYTES_ADVISED {
        lines.push(Line::warn(
            "exceeded recommended request limit",
            vec![
                ("max-request-bytes", config.max_request_bytes.to_string()),
                ("recommended-request-bytes", REQUEST_BYTES_ADVISED.to_string()),
            ],
        ));
    }
    if config.quota_bytes.is_some_and(|quota| quota > QUOTA_BYTES_ADVISED) {
        lines.push(Line::warn(
            "quota is above etcd's advised maximum",
            vec![("quota-backend-bytes", config.quota_flag.to_string())],
        ));
    }
    if let Some(compaction) = config.auto_compaction {
        lines.push(Line {
            level: "info",
            message: format!("automatic compaction is on: {compaction:?}"),
            fields: vec![("retention", config.auto_compaction_retention.clone())],
        });
    }
    lines
}

/// The fields of the start line, which tells the whole configuration.
impl Config {
    /// Name and value of what the start line prints, in etcd's words.
    pub fn summary(&self) -> Vec<(&'static str, serde_json::Value)> {
        let urls = |urls: &[Url]| {
            serde_json::Value::from(urls.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let millis = |ms| duration::format(std::time::Duration::from_millis(ms));
        vec![
            ("name", self.name.clone().into()),
            ("data-dir", self.data_dir.clone().into()),
            ("wal-dir", self.wal_dir.clone().unwrap_or_default().into()),
            ("member-dir", format!("{}/member", self.data_dir).into()),
            ("force-new-cluster", false.into()),
            ("heartbeat-interval", millis(self.heartbeat_ms).into()),
            ("election-timeout", millis(self.election_ms).into()),
            ("snapshot-count", self.snapshot_count.into()),
            ("snapshot-catchup-entries", self.snapshot_catchup_entries.into()),
            ("initial-advertise-peer-urls", urls(&self.advertise_peer_urls)),
            ("listen-peer-urls", urls(&self.listen_peer_urls)),
            ("advertise-client-urls", urls(&self.advertise_client_urls)),
            ("listen-client-urls", urls(&self.listen_client_urls)),
            ("listen-metrics-urls", urls(&self.listen_metrics_urls)),
            ("initial-cluster", self.initial_cluster.clone().into()),
            (
                "initial-cluster-state",
                if self.initial_cluster_new { "new" } else { "existing" }.into(),
            ),
            ("initial-cluster-token", self.initial_cluster_token.clone().into()),
            ("quota-backend-bytes", self.quota_flag.into()),
            ("max-request-bytes", self.max_request_bytes.into()),
            ("max-concurrent-streams", self.max_concurrent_streams.into()),
            ("pre-vote", self.pre_vote.into()),
            ("feature-gates", self.feature_gates_flag.clone().into()),
            ("auto-compaction-mode", self.auto_compaction_mode.clone().into()),
            ("auto-compaction-retention", self.auto_compaction_retention.clone().into()),
            ("resident-bytes", self.resident_bytes.into()),
            ("v2-deprecation", "write-only".into()),
        ]
    }
}
