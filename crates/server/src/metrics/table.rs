//! Every metric with its name, kind and buckets.

use super::grpc::GrpcMetrics;
use super::process::Process;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder, exponential_buckets,
};

/// Builds one metric and registers it.
trait Build: Sized {
    type Shape;
    fn build(name: &str, help: &str, shape: Self::Shape) -> Self;
}

const VALID: &str = "names, labels and buckets of the table are valid";

impl Build for IntCounter {
    type Shape = ();
    fn build(name: &str, help: &str, (): ()) -> Self {
        IntCounter::new(name, help).expect(VALID)
    }
}

impl Build for IntGauge {
    type Shape = ();
    fn build(name: &str, help: &str, (): ()) -> Self {
        IntGauge::new(name, help).expect(VALID)
    }
}

impl Build for Gauge {
    type Shape = ();
    fn build(name: &str, help: &str, (): ()) -> Self {
        Gauge::new(name, help).expect(VALID)
    }
}

impl Build for Histogram {
    type Shape = (f64, f64, usize);
    fn build(name: &str, help: &str, (start, factor, count): Self::Shape) -> Self {
        let buckets = exponential_buckets(start, factor, count).expect(VALID);
        Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets)).expect(VALID)
    }
}

impl Build for HistogramVec {
    type Shape = ((f64, f64, usize), &'static [&'static str]);
    fn build(name: &str, help: &str, ((start, factor, count), labels): Self::Shape) -> Self {
        let buckets = exponential_buckets(start, factor, count).expect(VALID);
        HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets), labels).expect(VALID)
    }
}

impl Build for IntCounterVec {
    type Shape = &'static [&'static str];
    fn build(name: &str, help: &str, labels: Self::Shape) -> Self {
        IntCounterVec::new(Opts::new(name, help), labels).expect(VALID)
    }
}

impl Build for IntGaugeVec {
    type Shape = &'static [&'static str];
    fn build(name: &str, help: &str, labels: Self::Shape) -> Self {
        IntGaugeVec::new(Opts::new(name, help), labels).expect(VALID)
    }
}

impl Build for GaugeVec {
    type Shape = &'static [&'static str];
    fn build(name: &str, help: &str, labels: Self::Shape) -> Self {
        GaugeVec::new(Opts::new(name, help), labels).expect(VALID)
    }
}

macro_rules! metrics {
    ($($field:ident: $kind:ty = $name:literal, $help:literal, $shape:expr;)*) => {
        /// All metrics of a server; handles are cheap to clone and safe to use from any thread.
        #[derive(Clone)]
        pub struct Metrics {
            registry: Registry,
            /// What is counted per RPC.
            pub(crate) grpc: GrpcMetrics,
            process: Process,
            $(#[doc = $help] pub $field: $kind,)*
        }

        impl Metrics {
            /// All metrics at zero. `extensive` adds histograms per RPC.
            pub fn new(extensive: bool) -> Metrics {
                let registry = Registry::new();
                $(
                    let $field = <$kind as Build>::build($name, $help, $shape);
                    registry.register(Box::new($field.clone())).expect(VALID);
                )*
                let grpc = GrpcMetrics::register(&registry, extensive);
                Metrics { registry, grpc, process: Process::default(), $($field),* }
            }
        }

        /// Names of the table, for the test that compares them with the contract.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}

const SYNC: (f64, f64, usize) = (0.001, 2.0, 14);
const FAST: (f64, f64, usize) = (0.0001, 2.0, 20);

metrics! {
    cluster_version: IntGaugeVec = "etcd_cluster_version", "Cluster version, as a label.", &["cluster_version"];
    server_version: IntGaugeVec = "etcd_server_version", "Version of this server, as a label.", &["server_version"];
    server_id: IntGaugeVec = "etcd_server_id", "Id of this member, as a label.", &["server_id"];
    go_version: IntGaugeVec = "etcd_server_go_version", "Toolchain of this server, as a label.", &["server_go_version"];
    feature_enabled: IntGaugeVec = "etcd_server_feature_enabled", "1 if the gate is on.", &["name", "stage"];
    has_leader: IntGauge = "etcd_server_has_leader", "1 if a leader is known.", ();
    is_leader: IntGauge = "etcd_server_is_leader", "1 if this member leads.", ();
    is_learner: IntGauge = "etcd_server_is_learner", "1 if this member does not vote.", ();
    leader_changes: IntCounter = "etcd_server_leader_changes_seen_total", "Changes of leader seen.", ();
    learner_promote_successes: IntCounter = "etcd_server_learner_promote_successes", "Learners promoted.", ();
    proposals_applied: IntGauge = "etcd_server_proposals_applied_total", "Applied index.", ();
    proposals_committed: IntGauge = "etcd_server_proposals_committed_total", "Committed index.", ();
    proposals_failed: IntCounter = "etcd_server_proposals_failed_total", "Proposals that failed.", ();
    proposals_pending: IntGauge = "etcd_server_proposals_pending", "Proposals that wait.", ();
    quota: IntGauge = "etcd_server_quota_backend_bytes", "Quota in force.", ();
    heartbeat_failures: IntCounter = "etcd_server_heartbeat_send_failures_total", "Heartbeats sent late.", ();
    health_failures: IntCounter = "etcd_server_health_failures", "Failed health checks.", ();
    health_success: IntCounter = "etcd_server_health_success", "Successful health checks.", ();
    healthcheck: IntGaugeVec = "etcd_server_healthcheck", "Last result of each check.", &["type", "name"];
    healthchecks: IntCounterVec = "etcd_server_healthchecks_total", "Results of checks.", &["type", "name", "status"];
    client_requests: IntCounterVec = "etcd_server_client_requests_total", "Requests by client version.", &["type", "client_api_version"];
    read_indexes_failed: IntCounter = "etcd_server_read_indexes_failed_total", "Failed read indexes.", ();
    slow_read_indexes: IntCounter = "etcd_server_slow_read_indexes_total", "Slow read indexes.", ();
    slow_apply: IntCounter = "etcd_server_slow_apply_total", "Slow applies.", ();
    snapshot_apply_in_progress: IntGauge = "etcd_server_snapshot_apply_in_progress_total", "1 while a snapshot is installed.", ();
    apply_duration: HistogramVec = "etcd_server_apply_duration_seconds", "Time to apply.", (FAST, &["version", "op", "success"]);
    range_duration: HistogramVec = "etcd_server_range_duration_seconds", "Time of a range.", (FAST, &["success"]);
    request_duration: HistogramVec = "etcd_server_request_duration_seconds", "Time of a request with consensus.", (SYNC, &["type", "success"]);
    wal_fsync: Histogram = "etcd_disk_wal_fsync_duration_seconds", "Time of a sync of the log.", SYNC;
    wal_write: Histogram = "etcd_disk_wal_write_duration_seconds", "Time of a write to the log.", SYNC;
    wal_bytes: IntGauge = "etcd_disk_wal_write_bytes_total", "Bytes written to the log.", ();
    backend_commit: Histogram = "etcd_disk_backend_commit_duration_seconds", "Time of a flush.", SYNC;
    backend_defrag: Histogram = "etcd_disk_backend_defrag_duration_seconds", "Time of a defragmentation.", (0.1, 2.0, 13);
    backend_snapshot: Histogram = "etcd_disk_backend_snapshot_duration_seconds", "Time of a backup.", (0.01, 2.0, 17);
    defrag_inflight: IntGauge = "etcd_disk_defrag_inflight", "1 while defragmenting.", ();
    commit_rebalance: Histogram = "etcd_debugging_disk_backend_commit_rebalance_duration_seconds", "Of etcd's backend.", SYNC;
    commit_spill: Histogram = "etcd_debugging_disk_backend_commit_spill_duration_seconds", "Of etcd's backend.", SYNC;
    commit_write: Histogram = "etcd_debugging_disk_backend_commit_write_duration_seconds", "Time of a flush's writes.", SYNC;
    open_read_transactions: IntGauge = "etcd_mvcc_db_open_read_transactions", "Open reads of the backend.", ();
    db_size: IntGauge = "etcd_mvcc_db_total_size_in_bytes", "Bytes of the backend's files.", ();
    db_size_in_use: IntGauge = "etcd_mvcc_db_total_size_in_use_in_bytes", "Bytes of what is not compacted.", ();
    mvcc_put: IntCounter = "etcd_mvcc_put_total", "Puts.", ();
    mvcc_delete: IntCounter = "etcd_mvcc_delete_total", "Deletes.", ();
    mvcc_range: IntCounter = "etcd_mvcc_range_total", "Ranges.", ();
    mvcc_txn: IntCounter = "etcd_mvcc_txn_total", "Transactions of more than one operation.", ();
    mvcc_hash: Histogram = "etcd_mvcc_hash_duration_seconds", "Time of a hash of everything.", (0.01, 2.0, 15);
    mvcc_hash_rev: Histogram = "etcd_mvcc_hash_rev_duration_seconds", "Time of a hash at a revision.", (0.01, 2.0, 15);
    compact_revision: IntGauge = "etcd_debugging_mvcc_compact_revision", "Compacted revision.", ();
    current_revision: IntGauge = "etcd_debugging_mvcc_current_revision", "Current revision.", ();
    compaction_keys: IntCounter = "etcd_debugging_mvcc_db_compaction_keys_total", "Versions compacted.", ();
    compaction_last: IntGauge = "etcd_debugging_mvcc_db_compaction_last", "Unix time of the last compaction.", ();
    compaction_pause: Histogram = "etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds", "Pauses by compaction.", (1.0, 2.0, 13);
    compaction_total: Histogram = "etcd_debugging_mvcc_db_compaction_total_duration_milliseconds", "Time of a compaction.", (100.0, 2.0, 14);
    index_compaction_pause: Histogram = "etcd_debugging_mvcc_index_compaction_pause_duration_milliseconds", "Pauses by compaction of the index.", (0.5, 2.0, 14);
    events: IntCounter = "etcd_debugging_mvcc_events_total", "Events sent.", ();
    keys: IntGauge = "etcd_debugging_mvcc_keys_total", "Keys.", ();
    pending_events: IntGauge = "etcd_debugging_mvcc_pending_events_total", "Events queued.", ();
    slow_watchers: IntGauge = "etcd_debugging_mvcc_slow_watcher_total", "Watchers that are behind.", ();
    total_put_size: IntGauge = "etcd_debugging_mvcc_total_put_size_in_bytes", "Bytes put.", ();
    watch_streams: IntGauge = "etcd_debugging_mvcc_watch_stream_total", "Watch streams.", ();
    watchers: IntGauge = "etcd_debugging_mvcc_watcher_total", "Watchers.", ();
    auth_revision: IntGauge = "etcd_debugging_auth_revision", "Revision of the auth store.", ();
    lease_granted: IntCounter = "etcd_debugging_lease_granted_total", "Leases granted.", ();
    lease_renewed: IntCounter = "etcd_debugging_lease_renewed_total", "Leases renewed.", ();
    lease_revoked: IntCounter = "etcd_debugging_lease_revoked_total", "Leases revoked.", ();
    lease_ttl: Histogram = "etcd_debugging_lease_ttl_total", "Granted TTLs in seconds.", (1.0, 2.0, 24);
    lease_expired: IntCounter = "etcd_debugging_server_lease_expired_total", "Leases expired.", ();
    alarms: IntGaugeVec = "etcd_debugging_server_alarms", "1 per active alarm.", &["server_id", "alarm_type"];
    watch_send_control: Histogram = "etcd_debugging_server_watch_send_loop_control_stream_duration_seconds", "Time to send control answers.", SYNC;
    watch_send_progress: Histogram = "etcd_debugging_server_watch_send_loop_progress_duration_seconds", "Time to send progress.", SYNC;
    watch_send_event: Histogram = "etcd_debugging_server_watch_send_loop_watch_stream_duration_per_event_seconds", "Time to send, per event.", SYNC;
    watch_send: Histogram = "etcd_debugging_server_watch_send_loop_watch_stream_duration_seconds", "Time to send events.", SYNC;
    snap_marshalling: Histogram = "etcd_debugging_snap_save_marshalling_duration_seconds", "Of etcd's snapshots.", SYNC;
    snap_save: Histogram = "etcd_debugging_snap_save_total_duration_seconds", "Of etcd's snapshots.", SYNC;
    snap_db_fsync: Histogram = "etcd_snap_db_fsync_duration_seconds", "Syncs of received snapshots.", SYNC;
    snap_db_save: Histogram = "etcd_snap_db_save_total_duration_seconds", "Time to store received snapshots.", (0.1, 2.0, 10);
    snap_fsync: Histogram = "etcd_snap_fsync_duration_seconds", "Syncs of snapshots.", SYNC;
    store_expires: IntCounter = "etcd_debugging_store_expires_total", "Of etcd's v2 store.", ();
    store_watch_requests: IntCounter = "etcd_debugging_store_watch_requests_total", "Of etcd's v2 store.", ();
    store_watchers: IntGauge = "etcd_debugging_store_watchers", "Of etcd's v2 store.", ();
    client_received: IntCounter = "etcd_network_client_grpc_received_bytes_total", "Bytes of messages from clients.", ();
    client_sent: IntCounter = "etcd_network_client_grpc_sent_bytes_total", "Bytes of messages to clients.", ();
    stream_failures: IntCounterVec = "etcd_network_server_stream_failures_total", "Failures of streams.", &["Type", "API"];
    active_peers: IntGaugeVec = "etcd_network_active_peers", "Connected peers.", &["Local", "Remote"];
    disconnected_peers: IntCounterVec = "etcd_network_disconnected_peers_total", "Peers that were lost.", &["Local", "Remote"];
    peer_received: IntCounterVec = "etcd_network_peer_received_bytes_total", "Bytes of messages from peers.", &["From"];
    peer_received_failures: IntCounterVec = "etcd_network_peer_received_failures_total", "Streams of peers that broke.", &["From"];
    peer_round_trip: HistogramVec = "etcd_network_peer_round_trip_time_seconds", "Time of a ping to a peer.", ((0.0001, 2.0, 16), &["To"]);
    peer_sent: IntCounterVec = "etcd_network_peer_sent_bytes_total", "Bytes of messages to peers.", &["To"];
    peer_sent_failures: IntCounterVec = "etcd_network_peer_sent_failures_total", "Messages that could not be sent to peers.", &["To"];
    known_peers: IntGaugeVec = "etcd_network_known_peers", "Known peers.", &["Local", "Remote"];
    proxy_cache_hits: IntGauge = "etcd_grpc_proxy_cache_hits_total", "Of the proxy.", ();
    proxy_cache_keys: IntGauge = "etcd_grpc_proxy_cache_keys_total", "Of the proxy.", ();
    proxy_cache_misses: IntGauge = "etcd_grpc_proxy_cache_misses_total", "Of the proxy.", ();
    proxy_events: IntCounter = "etcd_grpc_proxy_events_coalescing_total", "Of the proxy.", ();
    proxy_watchers: IntGauge = "etcd_grpc_proxy_watchers_coalescing_total", "Of the proxy.", ();
    fd_limit: IntGauge = "os_fd_limit", "Limit of open files.", ();
    fd_used: IntGauge = "os_fd_used", "Open files.", ();
    scrapes: IntCounterVec = "promhttp_metric_handler_requests_total", "Scrapes by status.", &["code"];
    scrapes_in_flight: IntGauge = "promhttp_metric_handler_requests_in_flight", "Scrapes being served.", ();
}

impl Metrics {
    /// Everything in Prometheus' text format, version 0.0.4.
    pub fn render(&self) -> String {
        let mut text = self.process.render();
        text.push_str(&super::runtime::render());
        let (used, limit) = self.process.files();
        self.fd_used.set(used);
        self.fd_limit.set(limit);
        if TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text).is_err() {
            text.clear();
        }
        text
    }

    /// Facts that stay the same while the server runs.
    pub fn set_identity(&self, member: u64, version: &str, gates: &[(&str, &str, bool)]) {
        let id = format!("{member:x}");
        self.server_id.with_label_values(&[&id]).set(1);
        // A member counts itself.
        self.known_peers.with_label_values(&[&id, &id]).set(1);
        self.server_version.with_label_values(&[version]).set(1);
        self.go_version.with_label_values(&["none"]).set(1);
        for (name, stage, on) in gates {
            self.feature_enabled.with_label_values(&[name, stage]).set(i64::from(*on));
        }
        for code in ["200", "500", "503"] {
            self.scrapes.with_label_values(&[code]);
        }
    }

    /// The cluster's version, `X.Y` of what was decided.
    pub fn set_cluster_version(&self, version: &str) {
        let mut parts = version.split('.');
        let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        self.cluster_version.with_label_values(&[&format!("{major}.{minor}")]).set(1);
    }
}
