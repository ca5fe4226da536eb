//! What is read, and what is refused with which words.

use super::*;
use std::time::Duration;

fn args(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_string).collect()
}

fn serve(line: &str) -> Config {
    match load(&args(line), &[]) {
        Start::Serve(config, _) => *config,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    match load(&args(line), &[]) {
        Start::Refused(lines) => {
            let last = lines.last().expect("a refusal says why");
            last.fields.last().expect("the reason is a field").1.clone()
        }
        Start::Usage(text) => text.lines().next().unwrap_or_default().to_string(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn ids_are_those_that_etcd_computes() {
    let config = serve(
        "--listen-peer-urls http://127.0.0.1:23801 --initial-advertise-peer-urls \
         http://127.0.0.1:23801",
    );
    assert_eq!(format!("{:x}", config.member_id.0), "bdae9bbc11dd390d");
    assert_eq!(format!("{:x}", config.cluster_id.0), "d1cfaf999eb97a2a");
}

#[test]
fn flags_are_read_in_every_form_and_the_last_one_wins() {
    let config = serve("-name=a --name b --pre-vote=false --snapshot-count 7 --socket-reuse-port");
    assert_eq!(config.name, "b");
    assert!(!config.pre_vote);
    assert!(config.reuse_port);
    assert_eq!(config.snapshot_count, 7);
    assert_eq!(config.data_dir, "b.etcd");
}

#[test]
fn unreadable_command_lines_end_with_etcds_words() {
    for (line, text) in [
        ("--bogus", "flag provided but not defined: -bogus"),
        ("--heartbeat-interval=x", "invalid value \"x\" for flag -heartbeat-interval: parse error"),
        (
            "--initial-cluster-state bad",
            "invalid value \"bad\" for flag -initial-cluster-state: invalid value",
        ),
        (
            "--feature-gates Foo=true",
            "invalid value \"Foo=true\" for flag -feature-gates: unrecognized feature gate: Foo",
        ),
        (
            "--v2-deprecation not-yet",
            "invalid value \"not-yet\" for flag -v2-deprecation: invalid value \"not-yet\"",
        ),
        ("--name", "flag needs an argument: -name"),
        ("---name", "bad flag syntax: ---name"),
    ] {
        assert!(matches!(load(&args(line), &[]), Start::Usage(_)), "{line}");
        assert_eq!(refusal(line), text);
    }
}

#[test]
fn refused_settings_end_with_etcds_words() {
    for (line, text) in [
        ("stray", "\"stray\" is not a valid flag"),
        (
            "--election-timeout 10",
            "--election-timeout[10ms] should be at least as 5 times as --heartbeat-interval[100ms]",
        ),
        (
            "--listen-client-urls http://foo.bar:1",
            "expected IP in URL for binding (http://foo.bar:1)",
        ),
        ("--auto-compaction-mode bad", "unknown auto-compaction-mode \"bad\""),
        (
            "--listen-client-urls http://127.0.0.1:1",
            "--advertise-client-urls is required when --listen-client-urls is set explicitly",
        ),
        ("--config-file /does/not/exist", "open /does/not/exist: no such file or directory"),
        (
            "--feature-gates LeaseCheckpointPersist=true",
            "enabling feature gate LeaseCheckpointPersist requires enabling feature gate LeaseCheckpoint",
        ),
    ] {
        assert_eq!(refusal(line), text, "{line}");
    }
}

#[test]
fn tls_and_authentication_are_refused_and_never_passed_over() {
    for line in [
        "--cert-file a --key-file b",
        "--client-cert-auth",
        "--trusted-ca-file ca",
        "--auto-tls=true",
        "--listen-client-urls https://127.0.0.1:1 --advertise-client-urls https://127.0.0.1:1",
        "--listen-metrics-urls https://127.0.0.1:1",
        "--auth-token jwt,pub-key=a",
    ] {
        assert!(refusal(line).contains("this build has no"), "{line}: {}", refusal(line));
    }
    serve("--client-cert-auth=false --auth-token simple");
}

#[test]
fn limits_of_tls_alone_do_not_ask_for_tls() {
    // etcd's own sample file sets all three beside plain URLs.
    serve("--cipher-suites A,B --tls-min-version TLS1.2 --tls-max-version TLS1.3");
}

#[test]
fn environment_is_read_and_conflicts_with_the_flag() {
    let env = [("ETCD_NAME".to_string(), "e".to_string())];
    match load(&args(""), &env) {
        Start::Serve(config, _) => assert_eq!(config.name, "e"),
        other => panic!("{other:?}"),
    }
    match load(&args("--name f"), &env) {
        Start::Refused(lines) => {
            let last = lines.last().expect("a line");
            assert_eq!(last.level, "fatal");
            assert_eq!(last.fields, [("environment-variable", "ETCD_NAME".to_string())]);
        }
        other => panic!("{other:?}"),
    }
    let unknown = [("ETCD_PORT_2379_TCP".to_string(), "x".to_string())];
    match load(&args(""), &unknown) {
        Start::Serve(_, lines) => {
            assert!(lines.iter().any(|line| line.message == "unrecognized environment variable"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_replaces_flags_and_environment() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("etcd.yml");
    let text = "name: from-file\nheartbeat-interval: 200\nelection-timeout: 2000\n\
                watch-progress-notify-interval: 5000000000\n\
                log-outputs: [stderr]\nunknown-key: 1\nclient-transport-security:\n  cert-file: ''\n\
                auto-compaction-retention: '1'\n";
    std::fs::write(&path, text).expect("write the file");
    let config = serve(&format!("--name flag --config-file {}", path.display()));
    assert_eq!(config.name, "from-file");
    assert_eq!(config.heartbeat_ms, 200);
    assert_eq!(config.progress_interval, Duration::from_secs(5));
    assert_eq!(config.auto_compaction, Some(CompactionMode::Periodic(Duration::from_secs(3600))));

    std::fs::write(&path, "client-transport-security:\n  cert-file: a.pem\n").expect("write");
    assert!(refusal(&format!("--config-file {}", path.display())).contains("no TLS yet"));
}

#[test]
fn a_file_and_the_flags_have_the_same_defaults() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("etcd.yml");
    std::fs::write(&path, "name: default\n").expect("write the file");
    let by_file = serve(&format!("--config-file {}", path.display()));
    assert_eq!(format!("{by_file:?}"), format!("{:?}", serve("")));
}

#[test]
fn durations_are_read_and_written_in_gos_form() {
    for (text, written) in [
        ("5s", "5s"),
        ("1h30m", "1h30m0s"),
        ("100ms", "100ms"),
        ("1.5s", "1.5s"),
        ("0", "0s"),
        ("90s", "1m30s"),
    ] {
        let duration = duration::parse(text).expect(text);
        assert_eq!(duration::format(duration), written);
    }
    for text in ["", "5", "s", "1x", "-5s", "1h-"] {
        assert_eq!(duration::parse(text), None, "{text}");
    }
}

#[test]
fn quota_zero_is_the_default_and_negative_is_without_bound() {
    assert_eq!(serve("").quota_bytes, Some(2_147_483_648));
    assert_eq!(serve("--quota-backend-bytes=-1").quota_bytes, None);
    assert_eq!(serve("--quota-backend-bytes=-1").quota_flag, -1);
    assert_eq!(serve("--quota-backend-bytes 123456789").quota_flag, 123_456_789);
}

#[test]
fn founders_are_read_with_etcds_ids() {
    let config = serve(
        "--name b --initial-advertise-peer-urls http://127.0.0.1:2 --initial-cluster-token t \
         --initial-cluster b=http://127.0.0.1:2,a=http://127.0.0.1:1,a=http://127.0.0.1:3",
    );
    let found: Vec<(&str, usize)> =
        config.founders.iter().map(|one| (one.name.as_str(), one.urls.len())).collect();
    assert_eq!(found, [("a", 2), ("b", 1)]);
    assert_eq!(config.member_id, config.own().expect("itself").id);
    assert_eq!(config.verify_bootstrap(), Ok(()));
}

#[test]
fn a_first_configuration_that_cannot_be_is_refused_in_etcds_words() {
    let peers = "--initial-advertise-peer-urls http://127.0.0.1:2 --initial-cluster";
    for (line, why) in [
        (
            format!("--name b {peers} a=http://127.0.0.1:2"),
            "couldn't find local name \"b\" in the initial cluster configuration",
        ),
        (
            format!("--name a {peers} a=http://127.0.0.1:1"),
            "--initial-cluster has a=http://127.0.0.1:1 but missing from \
             --initial-advertise-peer-urls=http://127.0.0.1:2",
        ),
        (
            format!("--name a {peers} a=http://127.0.0.1:2,b=http://127.0.0.1:2"),
            "initial cluster a=http://127.0.0.1:2,b=http://127.0.0.1:2 has duplicate url",
        ),
    ] {
        assert_eq!(serve(&line).verify_bootstrap(), Err(why.to_string()), "{line}");
    }
    let joins = serve(&format!("--name a {peers} a=http://127.0.0.1:1"));
    assert_eq!(joins.verify_join(), Ok(()), "a member that joins may be known by another URL");
}
