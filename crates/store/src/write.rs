//! Applying puts, deletes, transactions and revokes, the large ones slice by slice.

use crate::apply::Done;
use crate::counters::{Tally, compares};
use crate::entry::Entry;
use crate::outcome::{LeaseFact, Outcome};
use crate::store::Store;
use crate::table::tables;
use crate::{quota, txn};
use bytes::Bytes;
use lease::Row;
use mvcc::{Change, Changes, Prev};
use std::collections::btree_set;
use types::outcome::{DeleteOutcome, Item};
use types::{DeleteOp, LeaseId, OpError, PutOp, Record, Revision, TxnOp};

/// Keys of a lease or of an interval from which on what grows with each is told beforehand.
const MANY_KEYS: usize = 16 * 1024;

/// Where an entry stands that was cut.
#[derive(Debug)]
pub(crate) enum Work {
    /// What the delete has come to.
    Delete(DeleteOutcome),
    /// How far the transaction has run.
    Txn(Box<txn::Run>),
    /// Keys that are left.
    Revoke(Keys),
}

/// The keys of a lease that is revoked.
#[derive(Debug)]
pub(crate) struct Keys {
    left: btree_set::IntoIter<Bytes>,
    count: usize,
}

/// An entry is through, or has to go on.
pub(crate) type Step = Result<Done, Work>;

impl Store {
    pub(crate) fn put(&mut self, op: &PutOp) -> Done {
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

    pub(crate) fn txn(&mut self, op: &TxnOp, keys_max: usize) -> Step {
        let over_quota = self.over_quota(quota::txn_cost(op));
        let path = txn::Path::of(&self.keyspace, op);
        self.counters.add(Tally::ranges(compares(op, &path)));
        if let Err(error) = txn::check(&self.keyspace, &self.leases, op, &path) {
            return Ok(Done::err(error));
        }
        self.txn_slice(op, Box::new(txn::Run::new(path, over_quota)), keys_max)
    }

    pub(crate) fn txn_slice(
        &mut self,
        op: &TxnOp,
        mut run: Box<txn::Run>,
        keys_max: usize,
    ) -> Step {
        let tells_prev = self.hub.wants_any_prev();
        let mut open = self.keyspace.resume();
        let Some(outcome) = run.go(&mut open, op, tells_prev, keys_max) else {
            let changes = open.take_changes();
            open.suspend();
            self.absorb(changes);
            return Err(Work::Txn(run));
        };
        let changes = open.commit();
        let mut tally = Tally::default();
        tally.txn(op, run.path());
        self.counters.add(tally);
        self.committed(changes);
        Ok(Done { over_quota: run.over_quota, ..Done::ok(Outcome::Txn(outcome)) })
    }

    pub(crate) fn delete(&mut self, op: &DeleteOp, keys_max: usize) -> Step {
        if !op.range.is_single() {
            let keys = self.keyspace.count(&op.range, 0).unwrap_or(0);
            self.expect_changes(usize::try_from(keys).unwrap_or(0));
        }
        self.delete_slice(op, DeleteOutcome::default(), keys_max)
    }

    pub(crate) fn delete_slice(
        &mut self,
        op: &DeleteOp,
        mut outcome: DeleteOutcome,
        keys_max: usize,
    ) -> Step {
        let prev = wanted(op.prev_kv || self.hub.wants_any_prev());
        let mut open = self.keyspace.resume();
        let deleted = open.delete_slice(&op.range, keys_max, prev);
        txn::add_deleted(&mut outcome, op, deleted.prev, deleted.count);
        outcome.revision = open.revision();
        if !deleted.done {
            let changes = open.take_changes();
            open.suspend();
            self.absorb(changes);
            return Err(Work::Delete(outcome));
        }
        let changes = open.commit();
        let mut tally = Tally::default();
        tally.delete(op);
        self.counters.add(tally);
        self.committed(changes);
        Ok(Done::ok(Outcome::Delete(outcome)))
    }

    pub(crate) fn revoke(&mut self, entry: &Entry, id: LeaseId, keys_max: usize) -> Step {
        match self.leases.get(id) {
            None => return Ok(Done::err(OpError::LeaseNotFound)),
            Some(lease) if !entry.holds_for(lease.since) => return Ok(Done::ok(Outcome::Fenced)),
            Some(_) => {}
        }
        let left = self.leases.take_keys(id);
        let count = left.len();
        self.expect_changes(count);
        self.revoke_slice(id, Keys { left, count }, keys_max)
    }

    pub(crate) fn revoke_slice(&mut self, id: LeaseId, mut keys: Keys, keys_max: usize) -> Step {
        let prev = wanted(self.hub.wants_any_prev());
        let slice: Vec<Bytes> = keys.left.by_ref().take(keys_max).collect();
        let mut open = self.keyspace.resume();
        open.delete_keys(&slice, prev);
        if keys.left.len() > 0 {
            let changes = open.take_changes();
            open.suspend();
            self.absorb(changes);
            return Err(Work::Revoke(keys));
        }
        let changes = open.commit();
        self.counters.add(Tally::deletes(keys.count));
        self.committed(changes);
        self.leases.revoke(id).expect("the lease was there when its revoke began");
        self.unflushed.remove(tables::LEASES, &Row::key(id));
        let facts = vec![LeaseFact::Revoked(id)];
        Ok(Done { facts, ..Done::ok(Outcome::LeaseRevoke) })
    }

    fn expect_changes(&mut self, count: usize) {
        if MANY_KEYS <= count {
            self.keyspace.expect_changes(count);
            self.unflushed.reserve(count);
        }
    }

    /// What follows from a write transaction: its last changes, and that it is through.
    fn committed(&mut self, changes: Changes) {
        let Changes { revision, changes } = changes;
        if self.hub.revision() < revision {
            self.absorb(changes);
            self.hub.commit();
        }
    }

    /// What follows from some changes of a write transaction. Watchers are told at its end.
    fn absorb(&mut self, changes: Vec<Change>) {
        for change in &changes {
            if change.was != change.lease {
                self.leases.attach(change.key(), change.was, change.lease);
            }
        }
        let told: Vec<watch::Change> = if self.hub.is_idle() {
            Vec::new()
        } else {
            changes.iter().map(|change| self.told(change)).collect()
        };
        self.hub.note(&told);
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
}

/// Whether a delete reads what it deletes.
pub(crate) fn wanted(wanted: bool) -> Prev {
    if wanted { Prev::Wanted } else { Prev::Unread }
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
