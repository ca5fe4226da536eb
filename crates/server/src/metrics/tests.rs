//! The names are etcd's, and what is rendered is Prometheus' text format.

use super::table::NAMES;
use super::*;

/// Names that a scrape of a fresh etcd 3.7.3 shows and that exist here.
const ETCD: &str = include_str!("../../testdata/metric_names.txt");

#[test]
fn a_scrape_has_every_name_that_etcd_has() {
    let metrics = Metrics::new(false);
    metrics.set_identity(0xabc, "3.7.3", &[("AllAlpha", "ALPHA", false)]);
    metrics.set_cluster_version("3.7.0");
    metrics.apply_duration.with_label_values(&["v3", "Put", "true"]).observe(0.1);
    metrics.request_duration.with_label_values(&["Put", "true"]).observe(0.1);
    metrics.grpc.method(CallKind::Unary, "etcdserverpb.KV", "Put").started.inc();
    let text = metrics.render();
    let missing: Vec<_> = ETCD
        .lines()
        .filter(|line| !line.is_empty())
        .filter(|line| !text.contains(&format!("# TYPE {line}\n")))
        .collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    assert!(text.contains(
        "grpc_server_started_total{grpc_method=\"Put\",grpc_service=\"etcdserverpb.KV\",grpc_type=\"unary\"} 1"
    ));
    assert!(text.contains("process_resident_memory_bytes "));
}

#[test]
fn histograms_per_rpc_exist_only_when_asked_for() {
    for extensive in [false, true] {
        let metrics = Metrics::new(extensive);
        let method = metrics.grpc.method(CallKind::BidiStream, "etcdserverpb.Watch", "Watch");
        assert_eq!(method.seconds.is_some(), extensive);
        method.handled(14);
        assert!(metrics.render().contains("grpc_code=\"Unavailable\",grpc_method=\"Watch\""));
    }
}

#[test]
fn no_name_is_listed_twice() {
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), NAMES.len());
}
