//! Bounds of a TTL.

use std::time::Duration;

/// The smallest TTL in whole seconds: one and a half election timeouts, so that a change of leader
/// does not outlive the shortest lease.
pub fn ttl_min(election_timeout: Duration) -> i64 {
    let ms = (election_timeout.as_millis() * 3).div_ceil(2);
    i64::try_from(ms.div_ceil(1000)).unwrap_or(i64::MAX)
}

/// The TTL that a grant of `ttl` gets. The proposer decides it: members may differ in their
/// election timeout.
pub fn granted_ttl(ttl: i64, election_timeout: Duration) -> i64 {
    ttl.max(ttl_min(election_timeout))
}
