//! Brings metrics up to date at a scrape: what the core counts by itself is read only then.

use super::core::Figures;
use super::shell::Shell;
use prometheus::{IntCounter, IntGauge};
use types::MemberId;

impl Shell {
    /// Sets every metric that is not counted as things happen.
    pub fn refresh_metrics(&self) {
        let metrics = &self.metrics;
        self.timings.flush();
        let figures = self.figures();
        let Figures { store, watch, member, .. } = &figures;
        metrics.has_leader.set(i64::from(figures.leader.is_some()));
        metrics.is_leader.set(i64::from(figures.leader == Some(self.config.member_id)));
        set(&metrics.proposals_committed, figures.committed);
        set(&metrics.proposals_applied, figures.applied);
        set(&metrics.proposals_pending, figures.proposals_pending);
        raise(&metrics.proposals_failed, member.proposals_failed);
        raise(&metrics.slow_read_indexes, member.read_indexes_slow);
        raise(&metrics.read_indexes_failed, member.read_indexes_failed);
        metrics.quota.set(store.quota_bytes);
        set(&metrics.db_size, figures.db_bytes);
        metrics.db_size_in_use.set(store.live_bytes);
        set(&metrics.open_read_transactions, self.cold_reads.borrow().len());
        metrics.current_revision.set(store.revision);
        metrics.compact_revision.set(store.compacted);
        set(&metrics.keys, store.keys);
        raise(&metrics.mvcc_put, store.counters.puts);
        raise(&metrics.mvcc_delete, store.counters.deletes);
        raise(&metrics.mvcc_range, store.counters.ranges);
        raise(&metrics.mvcc_txn, store.counters.txns);
        set(&metrics.total_put_size, store.counters.put_bytes);
        raise(&metrics.compaction_keys, store.counters.versions_dropped);
        set(&metrics.watch_streams, watch.streams);
        set(&metrics.watchers, watch.watchers);
        set(&metrics.slow_watchers, watch.slow_watchers);
        set(&metrics.pending_events, watch.queued_events);
        raise(&metrics.events, watch.events_total);
        raise(&metrics.lease_granted, member.leases_granted);
        raise(&metrics.lease_renewed, member.leases_renewed);
        raise(&metrics.lease_revoked, member.leases_revoked);
        raise(&metrics.lease_expired, member.leases_expired);
        metrics.defrag_inflight.set(i64::from(self.is_defragmenting()));
        // The revision of an auth store that was never changed.
        metrics.auth_revision.set(1);
        if let Some(version) = &figures.cluster_version {
            metrics.set_cluster_version(version);
        }
        self.refresh_alarms(&figures.alarms);
    }

    /// An alarm that is over stays as 0.
    fn refresh_alarms(&self, on: &[(MemberId, &'static str)]) {
        let alarms = &self.metrics.alarms;
        let gauge = |member: MemberId, kind: &str| {
            alarms.with_label_values(&[&format!("{:x}", member.0), kind])
        };
        let mut seen = self.alarms_seen.borrow_mut();
        for (member, kind) in seen.iter() {
            gauge(*member, kind).set(0);
        }
        for (member, kind) in on {
            gauge(*member, kind).set(1);
            seen.insert((*member, kind));
        }
    }
}

fn set(gauge: &IntGauge, value: impl TryInto<i64>) {
    gauge.set(value.try_into().unwrap_or(i64::MAX));
}

/// Brings a counter up to a total that is counted elsewhere.
fn raise(counter: &IntCounter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}
