//! What the member has done since its start, for metrics.

use crate::member::Member;

/// Totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Proposals that were not applied in the time of those who waited for them.
    pub proposals_failed: u64,
    /// Read indexes that had to be asked for again.
    pub read_indexes_slow: u64,
    /// Reads that got no read index because leadership moved, or in time.
    pub read_indexes_failed: u64,
    /// Leases granted.
    pub leases_granted: u64,
    /// Leases renewed.
    pub leases_renewed: u64,
    /// Leases revoked, those that expired among them.
    pub leases_revoked: u64,
    /// Leases whose time ran out.
    pub leases_expired: u64,
}

impl Member {
    /// Totals since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Proposals that somebody waits for.
    pub fn proposals_pending(&self) -> usize {
        self.proposals.len()
    }
}
