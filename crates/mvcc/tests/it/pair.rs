//! The keyspace and the reference side by side, with a backend that is a map.

use crate::steps::Step;
use bytes::Bytes;
use model::{Kv, Model, RangeAnswer};
use mvcc::{Change, Config, History, Keyspace, Prev, Restore, Restored, Stored};
use prost::Message;
use proto::mvccpb::KeyValue;
use std::collections::{BTreeMap, BTreeSet};
use types::outcome::{Item, RangeOutcome};
use types::{KeyRange, LeaseId, Op, OpError, RangeOp, Record, Revision, TxnOp};

/// See the module.
pub(crate) struct Pair {
    config: Config,
    keyspace: Keyspace,
    model: Model,
    /// Every record that was committed and not reported dropped.
    backend: BTreeMap<Revision, Record>,
    /// Up to which main revision the backend may be read.
    flushed: i64,
    /// The lease that each key was last written with.
    attached: BTreeMap<Vec<u8>, LeaseId>,
}

fn all() -> KeyRange {
    KeyRange::new("\0", "\0")
}

/// A record as the reference sees it.
fn decoded(kv: &Bytes) -> Kv {
    let kv = KeyValue::decode(kv.clone()).expect("records are encoded messages");
    Kv {
        key: kv.key.into(),
        create: kv.create_revision,
        modified: kv.mod_revision,
        version: kv.version,
        value: kv.value.into(),
        lease: kv.lease,
    }
}

impl Pair {
    pub(crate) fn new(config: Config) -> Pair {
        let mut model = Model::new();
        for lease in [1, 2] {
            model.grant(lease).unwrap();
        }
        let keyspace = Keyspace::new(config);
        Pair {
            config,
            keyspace,
            model,
            backend: BTreeMap::new(),
            flushed: 0,
            attached: BTreeMap::new(),
        }
    }

    /// Does one step on both and compares what they answer.
    pub(crate) fn step(&mut self, step: &Step) {
        match step {
            Step::Write(ops) => self.write(ops),
            Step::DeleteSliced(range, max) => self.delete_sliced(range, *max),
            Step::Range(op) => self.range(op),
            Step::Compare(compare) => self.compare(compare),
            Step::Compact(code) => {
                let at = self.revision(*code);
                assert_eq!(self.keyspace.compact(at), self.model.compact(at), "compact {at}");
            }
            Step::Scrub(max) => {
                self.compact_step(*max);
            }
            Step::Flush(behind) => {
                self.flushed = self.flushed.max(self.model.revision() - behind);
                self.keyspace.flushed(self.flushed);
            }
            Step::Restore => self.restore(),
            Step::History(from, bytes) => self.history(*from, *bytes),
        }
        assert_eq!(self.keyspace.revision(), self.model.revision());
        assert_eq!(self.keyspace.compacted(), self.model.compacted());
    }

    /// A revision near the newest, or one that stands for the newest.
    fn revision(&self, code: i64) -> i64 {
        match code {
            0..64 => 0,
            64 => -1,
            code => self.model.revision() + 2 - (code - 64) % 48,
        }
    }

    /// The record behind an item, read from the backend if it is cold.
    fn read(&self, item: &Item) -> Kv {
        match item {
            Item::Resident(kv) => decoded(kv),
            Item::Cold { revision, len } => {
                assert!(revision.main <= self.flushed, "{revision} is cold before its flush");
                let record = &self.backend[revision];
                assert_eq!(record.kv.len(), *len as usize, "{revision} has another length");
                decoded(&record.kv)
            }
        }
    }

    fn warm(&mut self, revisions: &[Revision]) {
        let records: Vec<_> = revisions.iter().map(|at| self.backend[at].clone()).collect();
        self.keyspace.warm(records);
    }

    fn same_range(
        &self,
        ours: Result<RangeOutcome, OpError>,
        theirs: Result<RangeAnswer, OpError>,
        op: &RangeOp,
    ) {
        let ours = ours.map(|outcome| RangeAnswer {
            kvs: outcome.items.iter().map(|item| self.read(item)).collect(),
            more: outcome.more,
            count: outcome.count,
            revision: outcome.revision,
        });
        assert_eq!(ours, theirs, "{op:?}");
    }

    fn range(&mut self, op: &RangeOp) {
        let op = RangeOp { revision: self.revision(op.revision), ..op.clone() };
        self.warm(&self.keyspace.needs_for_range(&op));
        self.same_range(self.keyspace.range(&op), self.model.range(&op), &op);
        if !op.range.is_empty() {
            let theirs = self.model.range(&op).map(|answer| answer.count);
            assert_eq!(self.keyspace.count(&op.range, op.revision), theirs, "count {op:?}");
        }
        self.keyspace.release_warm();
    }

    fn compare(&mut self, compare: &types::Compare) {
        self.warm(&self.keyspace.needs_for_compare(compare));
        let (ours, theirs) = (self.keyspace.compare(compare), self.model.compare(compare));
        assert_eq!(ours, theirs, "{compare:?}");
        self.keyspace.release_warm();
    }

    fn write(&mut self, ops: &[Op]) {
        for op in ops {
            if let Op::Range(op) = op {
                self.warm(&self.keyspace.needs_for_keys(&op.range));
            }
        }
        let before = self.model.changes().len();
        let txn = TxnOp { success: ops.to_vec(), ..TxnOp::default() };
        let answer = self.model.txn(&txn).expect("nothing in it can fail");
        let mut txn = self.keyspace.begin();
        let mut reads = Vec::new();
        let mut deleted = Vec::new();
        for op in ops {
            match op {
                Op::Range(op) => reads.push((op, txn.range(op))),
                Op::Put(op) => {
                    let prev = txn.get(&op.key);
                    assert_eq!(txn.put(&op.key, &op.value, op.lease), prev);
                }
                Op::Delete(op) => deleted.push(txn.delete_range(&op.range, Prev::Wanted).count),
                Op::Txn(_) => unreachable!("steps have no nested transactions"),
            }
        }
        let changes = txn.commit();
        assert_eq!(changes.revision, answer.revision);
        self.committed(before, &changes.changes);
        let mut theirs = Vec::new();
        for answer in answer.answers {
            match answer {
                model::Answer::Range(answer) => {
                    let (op, ours) = reads.remove(0);
                    self.same_range(ours, Ok(answer), op);
                }
                model::Answer::Delete(answer) => theirs.push(answer.deleted),
                _ => {}
            }
        }
        let ours: Vec<_> = deleted.iter().map(|count| i64::try_from(*count).unwrap()).collect();
        assert_eq!(ours, theirs);
        self.keyspace.release_warm();
    }

    /// Compares the changes of a transaction and hands them to the backend.
    fn committed(&mut self, before: usize, ours: &[Change]) {
        let theirs = self.model.changes()[before..].to_vec();
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.record.revision, Revision::new(theirs.main, theirs.sub));
            self.same_record(&ours.record, theirs);
            assert_eq!(ours.key(), theirs.key);
            let lease = theirs.kv.as_ref().map_or(0, |kv| kv.lease);
            assert_eq!(ours.lease.0, lease);
            let was = self.attached.insert(ours.key().to_vec(), ours.lease).unwrap_or_default();
            assert_eq!(ours.was, was, "the lease of the version before");
            let prev = ours.prev.as_ref().map(|prev| self.read_stored(prev));
            assert_eq!(prev, theirs.prev);
            self.backend.insert(ours.record.revision, ours.record.clone());
        }
    }

    fn read_stored(&self, stored: &Stored) -> Kv {
        let kv = self.read(&stored.item);
        let meta = &stored.meta;
        let numbers = (meta.create, meta.mod_revision(), meta.version, meta.lease.0);
        assert_eq!(numbers, (kv.create, kv.modified, kv.version, kv.lease));
        kv
    }

    fn same_record(&self, ours: &Record, theirs: &model::Change) {
        assert_eq!(ours.tombstone, theirs.kv.is_none());
        let key_only = Kv { key: theirs.key.clone(), ..Kv::default() };
        assert_eq!(decoded(&ours.kv), theirs.kv.clone().unwrap_or(key_only));
    }

    fn delete_sliced(&mut self, range: &KeyRange, max: usize) {
        let before = self.model.changes().len();
        let op = RangeOp { range: all(), ..RangeOp::default() };
        let old = self.model.range(&op);
        let theirs =
            self.model.delete(&types::op::DeleteOp { range: range.clone(), prev_kv: false });
        let mut txn = self.keyspace.begin();
        let (mut deleted, mut changes) = (0, Vec::new());
        loop {
            let slice = txn.delete_slice(range, max, Prev::Wanted);
            deleted += i64::try_from(slice.count).unwrap();
            let changed = txn.take_changes();
            if slice.done {
                changes.extend(changed);
                break;
            }
            txn.suspend();
            self.same_range(self.keyspace.range(&op), old.clone(), &op);
            for (change, prev) in changed.iter().zip(&slice.prev) {
                assert_eq!(self.keyspace.meta(change.key()), Some(prev.meta));
            }
            changes.extend(changed);
            txn = self.keyspace.resume();
        }
        let committed = txn.commit();
        assert_eq!((deleted, committed.revision), (theirs.deleted, theirs.revision));
        assert_eq!(committed.changes, [], "all were taken");
        self.committed(before, &changes);
    }

    fn compact_step(&mut self, max: usize) -> bool {
        let progress = self.keyspace.compact_step(max);
        for revision in &progress.dropped {
            assert!(self.backend.remove(revision).is_some(), "{revision} was dropped twice");
        }
        if progress.done {
            let ours: Vec<_> = self.backend.keys().copied().collect();
            let kept = self.model.kept().into_iter();
            let theirs: Vec<_> =
                kept.map(|change| Revision::new(change.main, change.sub)).collect();
            assert_eq!(ours, theirs, "kept at {}", self.model.compacted());
        }
        progress.done
    }

    /// Restarts from what the backend holds, as if everything had been flushed.
    fn restore(&mut self) {
        let compacted = self.keyspace.compacted();
        let mut restore = Restore::new(self.config, self.keyspace.revision(), compacted);
        for record in self.backend.values() {
            restore.feed(record).expect("records are sound");
        }
        let Restored { keyspace, garbage } = restore.finish();
        self.keyspace = keyspace;
        self.flushed = self.model.revision();
        let mut leased = Vec::new();
        self.keyspace.each_leased(|key, lease| leased.push((key.to_vec(), lease)));
        let attached = self.attached.iter().filter(|(_, lease)| **lease != LeaseId(0));
        let attached: Vec<_> = attached.map(|(key, lease)| (key.clone(), *lease)).collect();
        assert_eq!(leased, attached, "keys at leases");
        let distinct: BTreeSet<_> = garbage.iter().collect();
        assert_eq!(distinct.len(), garbage.len(), "garbage is named once");
        for revision in garbage {
            assert!(self.backend.remove(&revision).is_some());
        }
        let kept = self.model.kept().len();
        assert_eq!(self.backend.len(), kept, "restore names all garbage and nothing else");
    }

    fn history(&mut self, code: i64, bytes_max: usize) {
        let from = self.revision(code).max(1).max(self.model.compacted() + 1);
        let to = self.model.revision();
        match self.keyspace.changes(from, to, bytes_max) {
            History::NeedsBackend { from: first, to: last } => {
                assert_eq!(first, from);
                assert!(last < to + 1 && last <= self.flushed, "unflushed history left memory");
            }
            History::Resident { records, next } => {
                let expected = self.model.changes().iter();
                let expected: Vec<_> =
                    expected.filter(|change| from <= change.main && change.main < next).collect();
                assert_eq!(records.len(), expected.len());
                for (ours, theirs) in records.iter().zip(expected) {
                    self.same_record(ours, theirs);
                    let prev = self.keyspace.prev(&theirs.key, theirs.main);
                    let prev = prev.map(|prev| self.read_stored(&prev));
                    assert_eq!(prev.as_ref(), self.model.prev_of(theirs));
                }
                assert!(from < next || to < from, "a step of history makes progress");
            }
        }
    }

    /// Compares everything that can be read, at every revision, after compaction has ended.
    pub(crate) fn finish(&mut self) {
        self.check();
        while !self.compact_step(3) {}
        self.check();
        self.restore();
        self.check();
    }

    /// Compares everything that can be read, at every revision.
    pub(crate) fn check(&mut self) {
        assert_eq!(self.keyspace.live_bytes(), self.model.live_bytes());
        assert_eq!(self.keyspace.key_count(), self.model.current().count());
        let first = self.model.compacted().max(1);
        for revision in first..=self.model.revision() {
            let op = RangeOp { range: all(), revision, ..RangeOp::default() };
            self.same_range(self.keyspace.range(&op), self.model.range(&op), &op);
        }
    }
}
