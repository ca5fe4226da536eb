//! Bounds of a TTL.

use std::time::Duration;

/// The smallest TTL in whole seconds: one and a half election timeouts, so that a change of leader
/// does not outlive the shortest lease. As in etcd, the election timeout counts in whole
/// heartbeats.
pub fn ttl_min(heartbeat: Duration, election: Duration) -> i64 {
    let heartbeat_ms = heartbeat.as_millis().max(1);
    let ticks = election.as_millis() / heartbeat_ms;
    let least_ms = (3 * ticks / 2) * heartbeat_ms;
    i64::try_from(least_ms.div_ceil(1000)).unwrap_or(i64::MAX)
}

/// The TTL that a grant of `ttl` gets. The proposer decides it: members may differ in their
/// timings.
pub fn granted_ttl(ttl: i64, heartbeat: Duration, election: Duration) -> i64 {
    ttl.max(ttl_min(heartbeat, election))
}
