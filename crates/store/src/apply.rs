//! Applying one entry, whole or slice by slice.

use crate::alarm::{AlarmKind, Alarms};
use crate::cluster::{DOWNGRADE_KEY, MemberRow, VERSION_KEY};
use crate::counters::{Tally, compares};
use crate::entry::Entry;
use crate::outcome::{Applied, LeaseFact, Outcome};
use crate::store::Store;
use crate::table::tables;
use crate::{chain, quota, txn};
use bytes::Bytes;
use lease::Row;
use mvcc::Changes;
use proto::request::Request;
use types::outcome::{DeleteOutcome, Item};
use types::{
    DeleteOp, Index, KeyRange, LeaseId, MemberId, OpError, PutOp, Record, Revision, Term, TxnOp,
    limits,
};

/// An entry of which only slices were applied so far: its changes are in the open write
/// transaction of the keyspace, which goes on serving the revision before.
#[derive(Debug)]
pub(crate) struct Suspended {
    entry: Entry,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Delete { op: DeleteOp, outcome: DeleteOutcome },
    Revoke { id: LeaseId, keys: Vec<Bytes>, at: usize },
}

/// What an entry comes to, before the bookkeeping.
struct Done {
    result: Result<Outcome, OpError>,
    facts: Vec<LeaseFact>,
    over_quota: bool,
}

impl Done {
    fn ok(outcome: Outcome) -> Done {
        Done { result: Ok(outcome), facts: Vec::new(), over_quota: false }
    }

    fn err(error: OpError) -> Done {
        Done { result: Err(error), facts: Vec::new(), over_quota: false }
    }
}

impl Store {
    /// Applies the entry that follows the last one. `needs` named nothing for it.
    pub fn apply(&mut self, index: Index, term: Term, entry: &Entry) -> Applied {
        let mut applied = self.apply_slice(index, term, entry, usize::MAX);
        loop {
            match applied {
                Some(applied) => return applied,
                None => applied = self.resume(usize::MAX),
            }
        }
    }

    /// As `apply`, changing at most `keys_max` keys if the entry can be cut; `None` if it has to
    /// go on with `resume`. Until then reads see the state before, and nothing else is applied.
    pub fn apply_slice(
        &mut self,
        index: Index,
        term: Term,
        entry: &Entry,
        keys_max: usize,
    ) -> Option<Applied> {
        assert!(self.suspended.is_none(), "an entry is applied before the next one begins");
        assert_eq!(index, self.applied.next(), "entries are applied in order");
        assert!(self.term <= term, "terms do not go back");
        (self.applied, self.term) = (index, term);
        if !self.window.admit(entry.id, entry.floor) {
            return Some(self.finish(entry, Done::ok(Outcome::Duplicate)));
        }
        if entry.fence != Term(0) && entry.fence != term {
            return Some(self.finish(entry, Done::ok(Outcome::Fenced)));
        }
        let Some(request) = &entry.request else {
            return Some(self.finish(entry, Done::ok(Outcome::Noop)));
        };
        if let Err(error) = self.gate(request) {
            return Some(self.finish(entry, Done::err(error)));
        }
        let work = match request {
            Request::Delete(op) => {
                Work::Delete { op: op.clone(), outcome: DeleteOutcome::default() }
            }
            Request::LeaseRevoke(id) => match self.leases.get(*id) {
                None => {
                    let done = Done::err(OpError::LeaseNotFound);
                    return Some(self.finish(entry, done));
                }
                Some(lease) if !entry.holds_for(lease.since) => {
                    return Some(self.finish(entry, Done::ok(Outcome::Fenced)));
                }
                Some(lease) => {
                    Work::Revoke { id: *id, keys: lease.keys().cloned().collect(), at: 0 }
                }
            },
            _ => {
                let done = self.run(entry, request);
                return Some(self.finish(entry, done));
            }
        };
        self.suspended = Some(Suspended { entry: entry.clone(), work });
        self.resume(keys_max)
    }

    /// Goes on with an entry that was cut.
    pub fn resume(&mut self, keys_max: usize) -> Option<Applied> {
        let Suspended { entry, work } = self.suspended.take().expect("an entry was cut");
        let next = match work {
            Work::Delete { op, outcome } => self.delete_slice(op, outcome, keys_max),
            Work::Revoke { id, keys, at } => self.revoke_slice(id, keys, at, keys_max),
        };
        match next {
            Ok(done) => Some(self.finish(&entry, done)),
            Err(work) => {
                self.suspended = Some(Suspended { entry, work });
                None
            }
        }
    }

    /// True while an entry is cut: nothing may be flushed or applied in between.
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    fn finish(&mut self, entry: &Entry, done: Done) -> Applied {
        let revision = self.revision();
        let tag = u8::from(done.result.is_err());
        self.chain = chain::next(self.chain, &entry.data, revision, tag);
        self.unflushed.entries += 1;
        self.cool();
        let Done { result, facts, over_quota } = done;
        Applied { id: entry.id, result, facts, over_quota, revision }
    }

    /// What alarms forbid.
    fn gate(&self, request: &Request) -> Result<(), OpError> {
        let corrupt = || self.alarms.is_on(AlarmKind::Corrupt);
        let no_space = || self.alarms.is_on(AlarmKind::NoSpace);
        let (is_gated, adds) = match request {
            Request::Put(_) | Request::LeaseGrant { .. } => (true, true),
            Request::Txn(op) => (true, no_space() && 0 < quota::txn_cost(op)),
            Request::Delete(_) | Request::Compact { .. } | Request::LeaseRevoke(_) => (true, false),
            _ => (false, false),
        };
        if is_gated && corrupt() {
            return Err(OpError::Corrupt);
        }
        if adds && no_space() {
            return Err(OpError::NoSpace);
        }
        Ok(())
    }

    fn run(&mut self, entry: &Entry, request: &Request) -> Done {
        match request {
            Request::Put(op) => self.put(op),
            Request::Txn(op) => self.txn(op),
            Request::Compact { revision, .. } => self.compact(*revision),
            Request::LeaseGrant { id, ttl } => self.lease_grant(*id, *ttl),
            Request::Checkpoint(checkpoints) => self.checkpoint(entry, checkpoints),
            Request::Alarm { action, member, kind } => self.alarm(*action, *member, *kind),
            Request::ClusterVersion(version) => {
                self.cluster.version = Some(version.clone());
                self.set_cluster_text(VERSION_KEY, Some(version));
                Done::ok(Outcome::Cluster)
            }
            Request::Downgrade { enabled, version } => {
                let target = enabled.then(|| version.clone());
                self.set_cluster_text(DOWNGRADE_KEY, target.as_deref());
                self.cluster.downgrade = target;
                Done::ok(Outcome::Cluster)
            }
            Request::MemberAttr { member, name, client_urls } => {
                let mut row = self.cluster.members.get(member).cloned().unwrap_or_default();
                row.id = *member;
                row.name.clone_from(name);
                row.client_urls.clone_from(client_urls);
                self.set_member(row);
                Done::ok(Outcome::Cluster)
            }
            Request::Delete(_) | Request::LeaseRevoke(_) => {
                unreachable!("what can be cut is not run whole")
            }
        }
    }

    fn put(&mut self, op: &PutOp) -> Done {
        let over_quota = self.over_quota(quota::put_cost(op));
        if let Err(error) = txn::check_put(&self.keyspace, &self.leases, op) {
            return Done::err(error);
        }
        let mut open = self.keyspace.begin();
        let outcome = txn::put(&mut open, op);
        let changes = open.commit();
        let mut tally = Tally::default();
        tally.put(op);
        self.counters.add(tally);
        self.committed(changes);
        Done { over_quota, ..Done::ok(Outcome::Put(outcome)) }
    }

    fn txn(&mut self, op: &TxnOp) -> Done {
        let over_quota = self.over_quota(quota::txn_cost(op));
        let path = txn::Path::of(&self.keyspace, op);
        self.counters.add(Tally::ranges(compares(op, &path)));
        if let Err(error) = txn::check(&self.keyspace, &self.leases, op, &path) {
            return Done::err(error);
        }
        let mut open = self.keyspace.begin();
        let outcome = txn::run(&mut open, op, &path);
        let changes = open.commit();
        let mut tally = Tally::default();
        tally.txn(op, &path);
        self.counters.add(tally);
        self.committed(changes);
        Done { over_quota, ..Done::ok(Outcome::Txn(outcome)) }
    }

    fn delete_slice(
        &mut self,
        op: DeleteOp,
        mut outcome: DeleteOutcome,
        keys_max: usize,
    ) -> Result<Done, Work> {
        let mut open = self.keyspace.resume();
        let (deleted, done) = open.delete_slice(&op.range, keys_max);
        outcome.deleted += i64::try_from(deleted.len()).expect("keys fit in memory");
        outcome.revision = open.revision();
        if op.prev_kv {
            outcome.prev.extend(deleted.into_iter().map(|deleted| deleted.prev.item));
        }
        if !done {
            open.suspend();
            return Err(Work::Delete { op, outcome });
        }
        let changes = open.commit();
        let mut tally = Tally::default();
        tally.delete(&op);
        self.counters.add(tally);
        self.committed(changes);
        Ok(Done::ok(Outcome::Delete(outcome)))
    }

    fn revoke_slice(
        &mut self,
        id: LeaseId,
        keys: Vec<Bytes>,
        at: usize,
        keys_max: usize,
    ) -> Result<Done, Work> {
        let end = at.saturating_add(keys_max).min(keys.len());
        let mut open = self.keyspace.resume();
        for key in &keys[at..end] {
            open.delete_range(&KeyRange::single(key.clone()));
        }
        if end < keys.len() {
            open.suspend();
            return Err(Work::Revoke { id, keys, at: end });
        }
        let changes = open.commit();
        self.counters.add(Tally::deletes(keys.len()));
        self.leases.revoke(id).expect("the lease was there when its revoke began");
        self.unflushed.remove(tables::LEASES, &Row::key(id));
        self.committed(changes);
        let facts = vec![LeaseFact::Revoked(id)];
        Ok(Done { facts, ..Done::ok(Outcome::LeaseRevoke) })
    }

    /// What follows from the changes of a write transaction.
    fn committed(&mut self, changes: Changes) {
        let Changes { revision, changes } = changes;
        if changes.is_empty() {
            return;
        }
        for change in &changes {
            let key = change.record.kv.slice_ref(change.key());
            if change.record.tombstone {
                self.leases.detach(&key);
            } else {
                self.leases.attach(&key, change.lease);
            }
        }
        if self.hub.is_idle() {
            self.hub.advance(revision);
        } else {
            let told: Vec<watch::Change> = changes.iter().map(|change| self.told(change)).collect();
            self.hub.notify(&told);
        }
        self.unflushed.push(changes.into_iter().map(|change| change.record));
    }

    /// The change as watchers get it.
    fn told(&self, change: &mvcc::Change) -> watch::Change {
        let record = &change.record;
        let asked = |_: &&_| self.hub.wants_prev(change.key()) && !creates_key(record);
        let wanted = change.prev.as_ref().filter(asked);
        watch::Change {
            key: record.kv.slice_ref(change.key()),
            revision: record.revision,
            tombstone: record.tombstone,
            kv: record.kv.clone(),
            prev: wanted.map(|prev| txn::resident(prev).clone()),
        }
    }

    fn compact(&mut self, revision: i64) -> Done {
        match self.keyspace.compact(revision) {
            Ok(()) => {
                self.hub.compact(revision);
                Done::ok(Outcome::Compact(revision))
            }
            Err(error) => Done::err(error),
        }
    }

    fn lease_grant(&mut self, id: LeaseId, ttl: i64) -> Done {
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
    fn checkpoint(&mut self, entry: &Entry, checkpoints: &[(LeaseId, i64)]) -> Done {
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

    fn alarm(&mut self, action: i32, member: MemberId, number: i32) -> Done {
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

    fn set_cluster_text(&mut self, key: &[u8], text: Option<&str>) {
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
        self.cluster.members.remove(&id);
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
}

/// The revision of an item that is not in memory.
pub(crate) fn cold(item: &Item) -> Option<Revision> {
    match item {
        Item::Cold { revision, .. } => Some(*revision),
        Item::Resident(_) => None,
    }
}

/// True if a record began its key's present life. Such an event tells no previous value, also where
/// the transaction that made it had deleted the key before.
pub(crate) fn creates_key(record: &Record) -> bool {
    !record.tombstone && mvcc::kv::parse(&record.kv).is_ok_and(|parts| parts.numbers.version == 1)
}
