//! The table of flags: name, kind, default, and what this build does with each.
//!
//! Names and defaults are etcd 3.7's (contract §4.2). The environment variable of a flag is
//! `ETCD_` and its name in upper case with `_` for `-`; the key in a file is its name.

/// What a flag's text must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Anything.
    Text,
    /// `true` or `false`; on the command line the bare flag means true.
    Bool,
    /// A signed number.
    Int,
    /// A number of at least 0.
    Uint,
    /// A number of at most 2^32 - 1.
    Uint32,
    /// A duration in Go's form; in a file, nanoseconds.
    Duration,
    /// URLs, separated by commas.
    Urls,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `Name=true,Name=false`.
    Gates,
}

/// What this build does with a flag that is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Support {
    /// It works.
    Works,
    /// Accepted, with a warning that says it has no effect.
    NoEffect,
    /// Any value but the default ends the start, with this reason.
    Later(&'static str),
}

/// One flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: &'static str,
    pub(crate) support: Support,
    pub(crate) help: &'static str,
}

const TLS: &str = "this build has no TLS yet, and plain text is not served where TLS was asked for";
const AUTH: &str = "this build has no authentication yet";
const DISCOVERY: &str = "this build has no discovery yet: it runs clusters of one member";
const GROWTH: &str = "this build runs clusters of one member";

macro_rules! flags {
    ($($name:literal $kind:expr, $default:literal, $support:expr, $help:literal;)*) => {
        /// Every flag, in the order of the help text.
        pub(crate) const FLAGS: &[Flag] = &[$(Flag {
            name: $name,
            kind: $kind,
            default: $default,
            support: $support,
            help: $help,
        }),*];
    };
}

use Kind::{Bool, Duration, Gates, Int, Text, Uint, Uint32, Urls, Word};
use Support::{Later, NoEffect, Works};

flags! {
    "name" Text, "default", Works, "name of this member";
    "data-dir" Text, "", Works, "folder of the data; ${name}.etcd if not given";
    "wal-dir" Text, "", Works, "folder of the write-ahead log, if it shall lie elsewhere";
    "snapshot-count" Uint, "10000", NoEffect, "the log is trimmed after each flush";
    "snapshot-catchup-entries" Uint, "5000", Works, "entries kept in the log for slow followers";
    "heartbeat-interval" Uint, "100", Works, "milliseconds between heartbeats";
    "election-timeout" Uint, "1000", Works, "milliseconds without a leader before an election";
    "initial-election-tick-advance" Bool, "true", NoEffect, "shorten the first election";
    "listen-peer-urls" Urls, "http://localhost:2380", Works, "where peers are listened for";
    "listen-client-urls" Urls, "http://localhost:2379", Works, "where clients are listened for";
    "listen-client-http-urls" Urls, "", Works, "where HTTP is served, apart from gRPC";
    "max-snapshots" Uint, "5", NoEffect, "deprecated in 3.6";
    "max-wals" Uint, "5", NoEffect, "log files kept; the log is trimmed by itself";
    "memory-mlock" Bool, "false", NoEffect, "pin memory";
    "quota-backend-bytes" Int, "0", Works, "bytes of data before writes are refused; 0 is 2 GiB";
    "backend-bbolt-freelist-type" Text, "map", NoEffect, "of etcd's own backend";
    "backend-batch-interval" Duration, "0s", NoEffect, "of etcd's own backend";
    "backend-batch-limit" Int, "0", NoEffect, "of etcd's own backend";
    "max-txn-ops" Uint, "128", Works, "operations in each list of a transaction";
    "max-request-bytes" Uint, "1572864", Works, "largest request";
    "max-concurrent-streams" Uint32, "4294967295", Works, "streams on one connection";
    "grpc-keepalive-min-time" Duration, "5s", Works, "least time between pings of a client";
    "grpc-keepalive-interval" Duration, "2h0m0s", Works, "time between pings to a client; 0 is off";
    "grpc-keepalive-timeout" Duration, "20s", Works, "time to wait for the answer to a ping";
    "socket-reuse-port" Bool, "false", Works, "listen with SO_REUSEPORT";
    "socket-reuse-address" Bool, "false", NoEffect, "SO_REUSEADDR is always set";
    "enable-grpc-gateway" Bool, "true", NoEffect, "JSON gateway; not part of this build yet";
    "raft-read-timeout" Duration, "5s", NoEffect, "of connections between peers";
    "raft-write-timeout" Duration, "5s", NoEffect, "of connections between peers";
    "feature-gates" Gates, "", Works, "Name=true,Name=false";
    "resident-bytes" Uint, "0", Works, "bytes of values kept in memory; 0 is 128 MiB";
    "initial-advertise-peer-urls" Urls, "http://localhost:2380", Works, "where peers reach this member";
    "initial-cluster" Text, "", Works, "name=URL of each member; default=http://localhost:2380";
    "initial-cluster-state" Word(&["new", "existing"]), "new", Works, "new or existing";
    "initial-cluster-token" Text, "etcd-cluster", Works, "sets clusters of equal URLs apart";
    "advertise-client-urls" Urls, "http://localhost:2379", Works, "where clients reach this member";
    "discovery-token" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-endpoints" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-dial-timeout" Duration, "2s", NoEffect, "v3 discovery";
    "discovery-request-timeout" Duration, "5s", NoEffect, "v3 discovery";
    "discovery-keepalive-time" Duration, "2s", NoEffect, "v3 discovery";
    "discovery-keepalive-timeout" Duration, "6s", NoEffect, "v3 discovery";
    "discovery-insecure-transport" Bool, "true", NoEffect, "v3 discovery";
    "discovery-insecure-skip-tls-verify" Bool, "false", NoEffect, "v3 discovery";
    "discovery-cert" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-key" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-cacert" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-user" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-password" Text, "", Later(DISCOVERY), "v3 discovery";
    "discovery-fallback" Word(&["exit", "proxy"]), "exit", NoEffect, "exit";
    "discovery-srv" Text, "", Later(DISCOVERY), "DNS discovery";
    "discovery-srv-name" Text, "", Later(DISCOVERY), "DNS discovery";
    "strict-reconfig-check" Bool, "true", NoEffect, "refuse changes that endanger the quorum";
    "pre-vote" Bool, "true", Works, "ask before an election";
    "auto-compaction-retention" Text, "0", Works, "hours, duration or revisions to keep; 0 is off";
    "auto-compaction-mode" Text, "periodic", Works, "periodic or revision";
    "v2-deprecation"
        Word(&["write-only", "write-only-skip-check", "write-only-drop-data", "gone"]),
        "write-only", NoEffect, "of etcd's v2 store";
    "cert-file" Text, "", Later(TLS), "server certificate";
    "key-file" Text, "", Later(TLS), "server key";
    "client-cert-file" Text, "", Later(TLS), "certificate towards itself";
    "client-key-file" Text, "", Later(TLS), "key towards itself";
    "client-cert-auth" Bool, "false", Later(TLS), "demand client certificates";
    "client-crl-file" Text, "", Later(TLS), "revoked client certificates";
    "client-cert-allowed-hostname" Text, "", Later(TLS), "names allowed in client certificates";
    "trusted-ca-file" Text, "", Later(TLS), "authority of client certificates";
    "auto-tls" Bool, "false", Later(TLS), "self-signed certificates";
    "peer-cert-file" Text, "", Later(TLS), "peer certificate";
    "peer-key-file" Text, "", Later(TLS), "peer key";
    "peer-client-cert-auth" Bool, "false", Later(TLS), "demand peer certificates";
    "peer-client-cert-file" Text, "", Later(TLS), "certificate towards peers";
    "peer-client-key-file" Text, "", Later(TLS), "key towards peers";
    "peer-trusted-ca-file" Text, "", Later(TLS), "authority of peer certificates";
    "peer-cert-allowed-cn" Text, "", Later(TLS), "names allowed in peer certificates";
    "peer-cert-allowed-hostname" Text, "", Later(TLS), "names allowed in peer certificates";
    "peer-auto-tls" Bool, "false", Later(TLS), "self-signed certificates between peers";
    "peer-crl-file" Text, "", Later(TLS), "revoked peer certificates";
    "peer-skip-client-san-verification" Bool, "false", Later(TLS), "skip the check of names";
    "self-signed-cert-validity" Uint, "1", NoEffect, "years";
    "cipher-suites" Text, "", NoEffect, "TLS cipher suites";
    "tls-min-version" Text, "TLS1.2", NoEffect, "least TLS version";
    "tls-max-version" Text, "", NoEffect, "greatest TLS version";
    "cors" Text, "*", Works, "origins allowed for HTTP";
    "host-whitelist" Text, "*", Works, "hosts allowed in HTTP requests";
    "auth-token" Text, "simple", Later(AUTH), "kind of token";
    "bcrypt-cost" Uint, "10", NoEffect, "cost of password hashes";
    "auth-token-ttl" Uint, "300", NoEffect, "seconds";
    "enable-pprof" Bool, "false", NoEffect, "Go profiles";
    "metrics" Word(&["basic", "extensive"]), "basic", Works, "extensive adds histograms per RPC";
    "listen-metrics-urls" Urls, "", Works, "where metrics and health are served as well";
    "logger" Text, "zap", Works, "zap";
    "log-outputs" Text, "default", Works, "default, stderr, stdout or files";
    "log-level" Text, "info", Works, "debug, info, warn, error, panic or fatal";
    "log-format" Text, "json", Works, "json or console";
    "enable-log-rotation" Bool, "false", NoEffect, "rotate the log file";
    "log-rotation-config-json"
        Text, "{\"maxsize\": 100, \"maxage\": 0, \"maxbackups\": 0, \"localtime\": false, \"compress\": false}",
        NoEffect, "how to rotate";
    "warning-apply-duration" Duration, "100ms", Works, "warn of slower applies";
    "warning-unary-request-duration" Duration, "300ms", Works, "warn of slower requests";
    "enable-distributed-tracing" Bool, "false", NoEffect, "OpenTelemetry";
    "distributed-tracing-address" Text, "localhost:4317", NoEffect, "OpenTelemetry";
    "distributed-tracing-service-name" Text, "etcd", NoEffect, "OpenTelemetry";
    "distributed-tracing-instance-id" Text, "", NoEffect, "OpenTelemetry";
    "distributed-tracing-sampling-rate" Int, "0", NoEffect, "OpenTelemetry";
    "corrupt-check-time" Duration, "0s", NoEffect, "checks between members";
    "compact-hash-check-time" Duration, "1m0s", NoEffect, "checks between members";
    "compaction-batch-limit" Int, "0", NoEffect, "slices of a compaction are short by themselves";
    "compaction-sleep-interval" Duration, "0s", NoEffect, "requests are served between slices";
    "watch-progress-notify-interval" Duration, "0s", Works, "time between progress notices; 0 is 10m";
    "bootstrap-defrag-threshold-megabytes" Uint, "0", NoEffect, "space is given back by itself";
    "max-learners" Int, "1", NoEffect, "learners in the cluster";
    "downgrade-check-time" Duration, "5s", NoEffect, "checks of a downgrade";
    "force-new-cluster" Bool, "false", Later(GROWTH), "keep only this member";
    "unsafe-no-fsync" Bool, "false", NoEffect, "every answered write is synced first";
    "config-file" Text, "", Works, "read all options from this file instead";
}

/// Flags of old releases that are taken and mean nothing.
pub(crate) const IGNORED: &[&str] = &[
    "cluster-active-size",
    "cluster-remove-delay",
    "cluster-sync-interval",
    "config",
    "force",
    "max-result-buffer",
    "max-retry-attempts",
    "peer-heartbeat-interval",
    "peer-election-timeout",
    "retry-interval",
    "snapshot",
    "v",
    "vv",
    "test.coverprofile",
    "test.outputdir",
];

/// Feature gates: name, stage, default.
pub(crate) const GATES: &[(&str, &str, bool)] = &[
    ("AllAlpha", "ALPHA", false),
    ("AllBeta", "BETA", false),
    ("CompactHashCheck", "ALPHA", false),
    ("FastLeaseKeepAlive", "BETA", true),
    ("InitialCorruptCheck", "ALPHA", false),
    ("LeaseCheckpoint", "ALPHA", false),
    ("LeaseCheckpointPersist", "ALPHA", false),
    ("PriorityRequest", "ALPHA", false),
    ("SetMemberLocalAddr", "ALPHA", false),
    ("StopGRPCServiceOnDefrag", "ALPHA", false),
    ("TxnModeWriteWithSharedBuffer", "BETA", true),
];

/// The flag of this name.
pub(crate) fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}
