//! The commands, their flags and what their help says.

use super::flags::{Flag, Kind};
use super::texts::{MEMBER_LIST_LONG, PUT_LONG, STATUS_LONG, TXN_LONG};
use super::tree::{Command, Group};

pub(super) const GLOBAL: &[Flag] = &[
    Flag::new("endpoints", Kind::List, "gRPC endpoints").default("127.0.0.1:2379"),
    Flag::new("debug", Kind::Switch, "enable client-side debug logging"),
    Flag::new(
        "write-out",
        Kind::Text,
        "set the output format (fields, json, protobuf, simple, table)",
    )
    .short('w')
    .default("simple"),
    Flag::new("hex", Kind::Switch, "print byte strings as hex encoded strings"),
    Flag::new("dial-timeout", Kind::Duration, "dial timeout for client connections").default("2s"),
    Flag::new(
        "command-timeout",
        Kind::Duration,
        "timeout for short running command (excluding dial timeout)",
    )
    .default("5s"),
    Flag::new("keepalive-time", Kind::Duration, "keepalive time for client connections")
        .default("2s"),
    Flag::new("keepalive-timeout", Kind::Duration, "keepalive timeout for client connections")
        .default("6s"),
    Flag::new(
        "max-request-bytes",
        Kind::Int,
        "client-side request send limit in bytes \
         (if 0, it defaults to 2.0 MiB (2 * 1024 * 1024).)",
    ),
    Flag::new(
        "max-recv-bytes",
        Kind::Int,
        "client-side response receive limit in bytes \
         (if 0, it defaults to \"math.MaxInt32\")",
    ),
    Flag::new(
        "insecure-transport",
        Kind::Switch,
        "disable transport security for client connections",
    )
    .default("true"),
    Flag::new(
        "insecure-discovery",
        Kind::Switch,
        "accept insecure SRV records describing cluster endpoints",
    )
    .default("true"),
    Flag::new(
        "insecure-skip-tls-verify",
        Kind::Switch,
        "skip server certificate verification \
         (CAUTION: this option should be enabled only for testing purposes)",
    ),
    Flag::new("cert", Kind::Text, "identify secure client using this TLS certificate file"),
    Flag::new("key", Kind::Text, "identify secure client using this TLS key file"),
    Flag::new(
        "cacert",
        Kind::Text,
        "verify certificates of TLS-enabled secure servers using this CA bundle",
    ),
    Flag::new(
        "auth-jwt-token",
        Kind::Text,
        "JWT token used for authentication \
         (if this option is used, --user and --password should not be set)",
    ),
    Flag::new(
        "user",
        Kind::Text,
        "username[:password] for authentication (prompt if password is not supplied)",
    ),
    Flag::new(
        "password",
        Kind::Text,
        "password for authentication \
         (if this option is used, --user option shouldn't include password)",
    ),
    Flag::new(
        "discovery-srv",
        Kind::Text,
        "domain name to query for SRV records describing cluster endpoints",
    )
    .short('d'),
    Flag::new("discovery-srv-name", Kind::Text, "service name to query when using DNS discovery"),
];

pub(super) const COMMANDS: &[Command] = &[
    Command::new(
        "alarm",
        "alarm <subcommand>",
        "Alarm related commands. Use `etcdctl alarm --help` to see \
         subcommands",
    )
    .long("Alarm related commands")
    .group(Group::Maintenance)
    .subs(ALARM),
    Command::new(
        "auth",
        "auth <enable or disable>",
        "Enable or disable authentication. Use `etcdctl auth --help` to \
         see subcommands",
    )
    .group(Group::Authentication),
    Command::new(
        "check",
        "check <subcommand>",
        "commands for checking properties of the etcd cluster. Use \
         `etcdctl check --help` to see subcommands",
    )
    .group(Group::Utility),
    Command::new(
        "compaction",
        "compaction [options] <revision>",
        "Compacts the event history in etcd",
    )
    .flags(&[Flag::new(
        "physical",
        Kind::Switch,
        "'true' to wait for compaction to physically remove all old \
         revisions",
    )]),
    Command::new(
        "completion",
        "completion [bash|zsh|fish|powershell]",
        "Generate completion script",
    )
    .group(Group::Utility),
    Command::new(
        "defrag",
        "defrag",
        "Defragments the storage of the etcd members with given endpoints",
    )
    .group(Group::Maintenance)
    .persistent(CLUSTER),
    Command::new(
        "del",
        "del [options] <key> [range_end]",
        "Removes the specified key or range of keys [key, range_end)",
    )
    .flags(DEL),
    Command::new(
        "downgrade",
        "downgrade <subcommand>",
        "Downgrade related commands. Use `etcdctl downgrade --help` to see \
         subcommands",
    )
    .group(Group::Maintenance),
    Command::new(
        "elect",
        "elect <election-name> [proposal]",
        "Observes and participates in leader election",
    )
    .group(Group::Concurrency)
    .flags(&[Flag::new("listen", Kind::Switch, "observation mode").short('l')]),
    Command::new(
        "endpoint",
        "endpoint <subcommand>",
        "Endpoint related commands. Use `etcdctl endpoint --help` to see \
         subcommands",
    )
    .long("Endpoint related commands")
    .group(Group::Maintenance)
    .persistent(CLUSTER)
    .subs(ENDPOINT),
    Command::new("get", "get [options] <key> [range_end]", "Gets the key or a range of keys")
        .flags(GET),
    Command::new("help", "help [command]", "Help about any command").group(Group::Utility),
    Command::new(
        "lease",
        "lease <subcommand>",
        "Lease related commands. Use `etcdctl lease --help` to see \
         subcommands",
    )
    .long("Lease related commands")
    .subs(LEASE),
    Command::new("lock", "lock <lockname> [exec-command arg1 arg2 ...]", "Acquires a named lock")
        .group(Group::Concurrency)
        .flags(&[Flag::new("ttl", Kind::Int, "timeout for session").default("10")]),
    Command::new(
        "make-mirror",
        "make-mirror [options] <destination>",
        "Makes a mirror at the destination etcd cluster",
    )
    .group(Group::Utility),
    Command::new(
        "member",
        "member <subcommand>",
        "Membership related commands. Use `etcdctl member --help` to see \
         subcommands",
    )
    .long("Membership related commands")
    .group(Group::Maintenance)
    .subs(MEMBER),
    Command::new(
        "move-leader",
        "move-leader <transferee-member-id>",
        "Transfers leadership to another etcd cluster member.",
    )
    .group(Group::Maintenance),
    Command::new("options", "options", "Show the global command-line flags").group(Group::Utility),
    Command::new(
        "put",
        "put [options] <key> <value> (<value> can also be given from stdin)",
        "Puts the given key into the store",
    )
    .long(PUT_LONG)
    .flags(PUT),
    Command::new(
        "role",
        "role <subcommand>",
        "Role related commands. Use `etcdctl role --help` to see subcommands",
    )
    .group(Group::Authentication),
    Command::new("snapshot", "snapshot <subcommand>", "Manages etcd node snapshots")
        .group(Group::Maintenance),
    Command::new("txn", "txn [options]", "Txn processes all the requests in one transaction")
        .long(TXN_LONG)
        .flags(&[Flag::new("interactive", Kind::Switch, "Input transaction in interactive mode")
            .short('i')]),
    Command::new(
        "user",
        "user <subcommand>",
        "User related commands. Use `etcdctl user --help` to see subcommands",
    )
    .group(Group::Authentication),
    Command::new("version", "version", "Prints the version of etcdctl").group(Group::Utility),
    Command::new(
        "watch",
        "watch [options] [key or prefix] [range_end] [--] [exec-command \
         arg1 arg2 ...]",
        "Watches events stream on keys or prefixes",
    )
    .flags(WATCH),
];

const CLUSTER: &[Flag] =
    &[Flag::new("cluster", Kind::Switch, "use all endpoints from the cluster member list")];

const ALARM: &[Command] = &[
    Command::new("disarm", "disarm", "Disarms all alarms"),
    Command::new("list", "list", "Lists all alarms"),
];

const ENDPOINT: &[Command] = &[
    Command::new("hashkv", "hashkv", "Prints the KV history hash for each endpoint in --endpoints")
        .flags(&[Flag::new(
            "rev",
            Kind::Int,
            "maximum revision to hash (default: latest revision)",
        )]),
    Command::new(
        "health",
        "health",
        "Checks the healthiness of endpoints specified in `--endpoints` flag",
    ),
    Command::new(
        "status",
        "status",
        "Prints out the status of endpoints specified in `--endpoints` flag",
    )
    .long(STATUS_LONG),
];

const LEASE: &[Command] = &[
    Command::new("grant", "grant <ttl>", "Creates leases"),
    Command::new("keep-alive", "keep-alive [options] <leaseID>", "Keeps leases alive (renew)")
        .flags(&[Flag::new(
            "once",
            Kind::Switch,
            "Resets the keep-alive time to its original value and \
         cobrautl.Exits immediately",
        )]),
    Command::new("list", "list", "List all active leases"),
    Command::new("revoke", "revoke <leaseID>", "Revokes leases"),
    Command::new("timetolive", "timetolive <leaseID> [options]", "Get lease information")
        .flags(&[Flag::new("keys", Kind::Switch, "Get keys attached to this lease")]),
];

const MEMBER: &[Command] = &[
    Command::new("add", "add <memberName> [options]", "Adds a member into the cluster"),
    Command::new("list", "list", "Lists all members in the cluster").long(MEMBER_LIST_LONG).flags(
        &[Flag::new("consistency", Kind::Text, "Linearizable(l) or Serializable(s)").default("l")],
    ),
    Command::new("promote", "promote <memberID>", "Promotes a non-voting member in the cluster"),
    Command::new("remove", "remove <memberID>", "Removes a member from the cluster"),
    Command::new("update", "update <memberID> [options]", "Updates a member in the cluster"),
];

const GET: &[Flag] = &[
    Flag::new("consistency", Kind::Text, "Linearizable(l) or Serializable(s)").default("l"),
    Flag::new("order", Kind::Text, "Order of results; ASCEND or DESCEND (ASCEND by default)"),
    Flag::new("sort-by", Kind::Text, "Sort target; CREATE, KEY, MODIFY, VALUE, or VERSION"),
    Flag::new("limit", Kind::Int, "Maximum number of results"),
    Flag::new("prefix", Kind::Switch, "Get keys with matching prefix"),
    Flag::new(
        "from-key",
        Kind::Switch,
        "Get keys that are greater than or equal to the given key using \
         byte compare",
    ),
    Flag::new("rev", Kind::Int, "Specify the kv revision"),
    Flag::new("keys-only", Kind::Switch, "Get only the keys"),
    Flag::new("count-only", Kind::Switch, "Get only the count"),
    Flag::new(
        "print-value-only",
        Kind::Switch,
        "Only write values when using the \"simple\" output format",
    ),
    Flag::new("min-create-rev", Kind::Int, "Minimum create revision"),
    Flag::new("max-create-rev", Kind::Int, "Maximum create revision"),
    Flag::new("min-mod-rev", Kind::Int, "Minimum modification revision"),
    Flag::new("max-mod-rev", Kind::Int, "Maximum modification revision"),
    Flag::new("stream", Kind::Switch, "Use the RangeStream RPC"),
];

const PUT: &[Flag] = &[
    Flag::new("lease", Kind::Text, "lease ID (in hexadecimal) to attach to the key").default("0"),
    Flag::new("prev-kv", Kind::Switch, "return the previous key-value pair before modification"),
    Flag::new("ignore-value", Kind::Switch, "updates the key using its current value"),
    Flag::new("ignore-lease", Kind::Switch, "updates the key using its current lease"),
];

const DEL: &[Flag] = &[
    Flag::new("prefix", Kind::Switch, "delete keys with matching prefix"),
    Flag::new("prev-kv", Kind::Switch, "return deleted key-value pairs"),
    Flag::new(
        "from-key",
        Kind::Switch,
        "delete keys that are greater than or equal to the given key using \
         byte compare",
    ),
    Flag::new("range", Kind::Switch, "delete range of keys"),
];

const WATCH: &[Flag] = &[
    Flag::new("interactive", Kind::Switch, "Interactive mode").short('i'),
    Flag::new("prefix", Kind::Switch, "Watch on a prefix if prefix is set"),
    Flag::new("rev", Kind::Int, "Revision to start watching"),
    Flag::new("prev-kv", Kind::Switch, "get the previous key-value pair before the event happens"),
    Flag::new(
        "progress-notify",
        Kind::Switch,
        "get periodic watch progress notification from server",
    ),
];
