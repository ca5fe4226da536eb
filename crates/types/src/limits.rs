//! Every limit of the product, each with its reason and etcd's default.

use std::time::Duration;

/// Largest log entry a client may cause (`--max-request-bytes`); etcd's default.
pub const REQUEST_BYTES_MAX: usize = 1_572_864;
/// What a gRPC message may exceed the request limit by; etcd's constant.
pub const GRPC_OVERHEAD_BYTES: usize = 524_288;
/// Most operations in each list of a txn (`--max-txn-ops`); etcd's default.
pub const TXN_OPS_MAX: usize = 128;
/// How deep transactions may nest: above `TXN_OPS_MAX`, within which etcd's check of operations
/// keeps them by default, and small enough for a stack.
pub const TXN_DEPTH_MAX: usize = 256;
/// Backend quota when the flag is 0; etcd's default.
pub const QUOTA_BYTES_DEFAULT: i64 = 2_147_483_648;
/// What the quota counts for a record beside its key and value; etcd's constant.
pub const QUOTA_RECORD_OVERHEAD_BYTES: i64 = 256;
/// What the quota counts for a lease grant; etcd's constant.
pub const QUOTA_LEASE_BYTES: i64 = 64;
/// Largest lease TTL in seconds; etcd's constant.
pub const LEASE_TTL_MAX: i64 = 9_000_000_000;
/// Committed entries that may wait to be applied before proposals are refused; etcd's constant.
pub const APPLY_LAG_MAX: u64 = 5_000;
/// Distinct revisions in one catch-up response of a watcher; etcd's constant.
pub const WATCH_BATCH_REVISIONS_MAX: usize = 1_000;
/// Bytes in one catch-up response of a watcher before it ends at the next revision border, so
/// that a client with a 4 MiB receive limit can follow.
pub const WATCH_BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Watchers that one stream may hold: bounds the memory that one client can take.
pub const WATCHERS_PER_STREAM_MAX: usize = 10_000;
/// Bytes of queued responses on a watch stream before its watchers fall back to catching up.
pub const WATCH_STREAM_QUEUE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Answers without events that may wait on a watch stream before its commands are not read any
/// more; etcd's buffer holds 16, ours saves wake-ups.
pub const WATCH_STREAM_CONTROL_MAX: usize = 256;
/// Values kept in memory when the flag is not given: keeps memory below etcd's on equal data.
pub const RESIDENT_BYTES_DEFAULT: usize = 128 * 1024 * 1024;
/// Most bytes of recent records kept for watchers that catch up and for reads at older
/// revisions: tens of thousands of changes of a usual size. Fewer where there is less data, for
/// what they save is walks over it.
pub const RECENT_BYTES_DEFAULT: usize = 16 * 1024 * 1024;
/// Least bytes of recent records, however little data there is.
pub const RECENT_BYTES_MIN: usize = 4 * 1024 * 1024;
/// Length of a log segment: a new one is filled with zeros, which are bytes written for nothing,
/// and rolling to the next one costs some syncs.
pub const WAL_SEGMENT_BYTES_DEFAULT: u64 = 4 * 1024 * 1024;
/// Unused log segments kept for reuse: the next ones to write, and room for a burst of trims.
pub const WAL_SPARES_MAX: usize = 8;
/// Unused log segments held back for a full disk: what is written between two flushes fits.
pub const WAL_RESERVE: usize = 2;
/// Largest batch of the log: offsets inside a segment stay below 32 bits.
pub const WAL_BATCH_BYTES_MAX: usize = 1 << 30;
/// Largest encoded member list in a log segment's header, which is one block.
pub const WAL_MEMBERSHIP_BYTES_MAX: usize = 3072;
/// Unflushed bytes from which a flush is due: large jobs write few bytes around the records, and
/// small ones keep little in memory.
pub const FLUSH_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of the log since the last flush from which a flush is due: keeps the log short, so that
/// its segments are soon written over and no new ones made.
pub const FLUSH_LOG_BYTES: u64 = 4 * 1024 * 1024;
/// Age of the oldest unflushed change from which a flush is due: bounds what a start replays.
pub const FLUSH_INTERVAL: Duration = Duration::from_secs(2);
/// Unflushed bytes at which apply waits for the backend: they cannot be evicted from memory.
pub const UNFLUSHED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Applied entries kept in the log for slow members; etcd's default.
pub const CATCH_UP_ENTRIES: u64 = 5_000;
/// How often an idle watcher that asked for it is told of progress; etcd's default.
pub const WATCH_PROGRESS_INTERVAL: Duration = Duration::from_secs(600);
/// How long a request waits, beside two election timeouts; etcd's constant.
pub const REQUEST_TIMEOUT_BASE: Duration = Duration::from_secs(5);
/// After how long a read index is asked for again; etcd's constant.
pub const READ_INDEX_RETRY: Duration = Duration::from_millis(500);
/// Proposals that may wait to be applied: bounds what a stalled disk gathers.
pub const PROPOSALS_MAX: usize = 20_000;
/// Bytes of proposals that raft has not taken yet.
pub const PROPOSALS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of committed entries that wait to be applied before a follower takes no more.
pub const UNAPPLIED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of proposals after which a message to the leader is full.
pub const FORWARD_BYTES: usize = 1024 * 1024;
/// Bytes of applied entries kept in memory for slow members: what they need is seldom older.
pub const LOG_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Learners that a cluster may have (`--max-learners`); etcd's default.
pub const LEARNERS_MAX: usize = 1;
/// How long a member must have been connected to count for a membership change; etcd's constant.
pub const HEALTH_INTERVAL: Duration = Duration::from_secs(5);
/// Entries applied in one turn of the loop before others get their turn.
pub const APPLY_ENTRIES_PER_TURN: usize = 1_000;
/// Keys that one entry changes in one turn of the loop; the rest of it follows in later ones.
pub const APPLY_KEYS_PER_TURN: usize = 1_024;
/// Slices of history given to watchers that are behind in one turn of the loop.
pub const CATCH_UPS_PER_TURN: usize = 4;
/// Keys that a compaction looks at in one turn of the loop.
pub const COMPACT_KEYS_PER_TURN: usize = 256;
/// Expired leases whose revokes are proposed in one turn; etcd revokes as many in a scan. The next
/// ones follow as soon as these are applied.
pub const LEASE_REVOKES_PER_TURN: usize = 500;
/// The first rest between two paced rewrites is this many times what the last one took: clearing
/// up takes less than a tenth of a core.
pub const REWRITE_REST_FACTOR: u32 = 10;
/// Longest rest between two paced rewrites, so that load cannot starve them.
pub const REWRITE_REST_MAX: Duration = Duration::from_secs(1);
