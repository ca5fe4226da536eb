//! Applying what does not touch keys: leases, alarms, members, and the end of old versions.

use crate::alarm::{AlarmKind, Alarms};
use crate::apply::Done;
use crate::cluster::MemberRow;
use crate::entry::Entry;
use crate::outcome::{LeaseFact, Outcome};
use crate::store::Store;
use crate::table::tables;
use bytes::Bytes;
use lease::Row;
use types::{LeaseId, MemberId, limits};

impl Store {
    pub(crate) fn compact(&mut self, revision: i64) -> Done {
        match self.keyspace.compact(revision) {
            Ok(()) => {
                self.hub.compact(revision);
                Done::ok(Outcome::Compact(revision))
            }
            Err(error) => Done::err(error),
        }
    }

    /// Drops versions that compaction let go, looking at `keys_max` keys at most; true if nothing
    /// is left to drop.
    pub fn compact_step(&mut self, keys_max: usize) -> bool {
        if self.is_suspended() {
            return false;
        }
        let progress = self.keyspace.compact_step(keys_max);
        self.counters.versions_dropped += progress.dropped.len() as u64;
        self.unflushed.removals.extend(progress.dropped);
        progress.done
    }

    pub(crate) fn lease_grant(&mut self, id: LeaseId, ttl: i64) -> Done {
        let over_quota = self.over_quota(limits::QUOTA_LEASE_BYTES);
        match self.leases.grant(self.applied, id, ttl) {
            Ok(()) => {
                self.note_lease(id);
                let facts = vec![LeaseFact::Granted { id, ttl }];
                let result = Ok(Outcome::LeaseGrant { id, ttl });
                Done { result, facts, over_quota }
            }
            Err(error) => Done::err(error),
        }
    }

    /// Leases that are gone by now are passed over, and others that took their ids.
    pub(crate) fn checkpoint(&mut self, entry: &Entry, checkpoints: &[(LeaseId, i64)]) -> Done {
        let mut facts = Vec::new();
        for &(id, remaining) in checkpoints {
            let is_meant = self.leases.get(id).is_some_and(|lease| entry.holds_for(lease.since));
            if is_meant && self.leases.checkpoint(id, remaining) {
                self.note_lease(id);
                facts.push(LeaseFact::Checkpointed { id, remaining });
            }
        }
        Done { facts, ..Done::ok(Outcome::Checkpoint) }
    }

    fn note_lease(&mut self, id: LeaseId) {
        let row = self.leases.row(id).expect("the lease was just changed");
        let value = Bytes::copy_from_slice(&row.encode());
        self.unflushed.put(tables::LEASES, &Row::key(id), value);
    }

    pub(crate) fn alarm(&mut self, action: i32, member: MemberId, number: i32) -> Done {
        let kind = AlarmKind::of(number);
        let listed = match (action, kind) {
            (0, _) => self.alarms.list(kind),
            (1, Some(kind)) => {
                self.alarms.insert(member, kind);
                self.unflushed.put(tables::ALARMS, &Alarms::key(member, kind), Bytes::new());
                vec![(member, kind)]
            }
            (2, Some(kind)) if self.alarms.remove(member, kind) => {
                self.unflushed.remove(tables::ALARMS, &Alarms::key(member, kind));
                vec![(member, kind)]
            }
            _ => Vec::new(),
        };
        Done::ok(Outcome::Alarm(listed))
    }

    pub(crate) fn set_cluster_text(&mut self, key: &[u8], text: Option<&str>) {
        match text {
            Some(text) => {
                self.unflushed.put(tables::CLUSTER, key, Bytes::copy_from_slice(text.as_bytes()));
            }
            None => self.unflushed.remove(tables::CLUSTER, key),
        }
    }

    /// Puts a member in the table: at the first start, and with a membership change.
    pub fn set_member(&mut self, row: MemberRow) {
        self.unflushed.put(tables::MEMBERS, &MemberRow::key(row.id), row.encode());
        self.cluster.members.insert(row.id, row);
    }

    /// Takes a member out of the table, with a membership change.
    pub fn remove_member(&mut self, id: MemberId) {
        self.unflushed.remove(tables::MEMBERS, &MemberRow::key(id));
        self.unflushed.put(tables::REMOVED, &MemberRow::key(id), Bytes::new());
        self.cluster.members.remove(&id);
        self.cluster.removed.insert(id);
    }
}
