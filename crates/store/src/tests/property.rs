//! Random entries against the reference, on a store that flushes, forgets and restarts; beside
//! it a replica that only applies the same log.

use super::convert::{self, Answers};
use super::rig::{Rig, decode};
use crate::{Config, Entry, Outcome, Store};
use bytes::Bytes;
use model::Model;
use proptest::prelude::*;
use proto::log::Kind;
use std::time::Duration;
use types::op::{CompareResult, CompareTarget, SortOrder, SortTarget};
use types::{Compare, DeleteOp, KeyRange, LeaseId, Op, PutOp, RangeOp, Time, TxnOp};
use watch::{Create, StreamId};

#[derive(Clone, Debug)]
enum Step {
    Put(PutOp),
    Delete(DeleteOp),
    Txn(TxnOp),
    ReadTxn(TxnOp),
    Range(RangeOp),
    Compact(i64),
    Scrub,
    Grant(i64),
    Revoke(i64),
    Flush,
    Restart,
}

fn key() -> impl Strategy<Value = Bytes> {
    (0..6_u8).prop_map(|n| Bytes::from(vec![b'a' + n]))
}

fn interval() -> impl Strategy<Value = KeyRange> {
    prop_oneof![
        3 => key().prop_map(KeyRange::single),
        1 => (key(), key()).prop_map(|(key, end)| KeyRange::new(key, end)),
        1 => key().prop_map(|key| KeyRange::new(key, &b"\0"[..])),
    ]
}

/// Keys in one slice of the step's entry.
fn slice() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(usize::MAX), 3 => 1..4_usize]
}

fn flag() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.25)
}

fn put() -> impl Strategy<Value = PutOp> {
    (key(), any::<u8>(), -1..3_i64, flag(), flag(), flag()).prop_map(
        |(key, value, lease, prev_kv, ignore_value, ignore_lease)| PutOp {
            key,
            value: if ignore_value { Bytes::new() } else { Bytes::from(vec![value; 40]) },
            lease: LeaseId(if ignore_lease { 0 } else { lease }),
            prev_kv,
            ignore_value,
            ignore_lease,
        },
    )
}

fn delete() -> impl Strategy<Value = DeleteOp> {
    (interval(), flag()).prop_map(|(range, prev_kv)| DeleteOp { range, prev_kv })
}

fn range() -> impl Strategy<Value = RangeOp> {
    let sorts = prop_oneof![
        Just((SortOrder::None, SortTarget::Key)),
        Just((SortOrder::Descend, SortTarget::Key)),
        Just((SortOrder::Ascend, SortTarget::Mod)),
    ];
    (interval(), 0..4_i64, -1..30_i64, sorts, flag(), flag()).prop_map(
        |(range, limit, revision, (sort_order, sort_target), keys_only, count_only)| RangeOp {
            range,
            limit,
            revision: if revision % 3 == 0 { revision } else { 0 },
            sort_order,
            sort_target,
            keys_only,
            count_only,
            ..RangeOp::default()
        },
    )
}

fn compare() -> impl Strategy<Value = Compare> {
    let target = prop_oneof![
        (0..4_i64).prop_map(CompareTarget::Version),
        (0..20_i64).prop_map(CompareTarget::Create),
        (0..20_i64).prop_map(CompareTarget::Mod),
        any::<u8>().prop_map(|value| CompareTarget::Value(Bytes::from(vec![value; 40]))),
        (-1..3_i64).prop_map(CompareTarget::Lease),
        Just(CompareTarget::Unknown),
    ];
    let result = prop_oneof![
        Just(CompareResult::Equal),
        Just(CompareResult::Greater),
        Just(CompareResult::Less),
        Just(CompareResult::NotEqual),
        Just(CompareResult::Unknown),
    ];
    (interval(), result, target).prop_map(|(range, result, target)| Compare {
        range,
        result,
        target,
    })
}

fn txn() -> impl Strategy<Value = TxnOp> {
    let leaf = prop_oneof![
        4 => put().prop_map(Op::Put),
        2 => delete().prop_map(Op::Delete),
        2 => range().prop_map(Op::Range),
    ];
    let op = leaf.prop_recursive(2, 6, 3, |inner| {
        let ops = || prop::collection::vec(inner.clone(), 0..3);
        (prop::collection::vec(compare(), 0..2), ops(), ops())
            .prop_map(|(compare, success, failure)| Op::Txn(TxnOp { compare, success, failure }))
    });
    let ops = || prop::collection::vec(op.clone(), 0..4);
    (prop::collection::vec(compare(), 0..2), ops(), ops())
        .prop_map(|(compare, success, failure)| TxnOp { compare, success, failure })
}

fn read_txn() -> impl Strategy<Value = TxnOp> {
    let ops = || prop::collection::vec(range().prop_map(Op::Range), 0..3);
    (prop::collection::vec(compare(), 0..3), ops(), ops())
        .prop_map(|(compare, success, failure)| TxnOp { compare, success, failure })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => put().prop_map(Step::Put),
        3 => delete().prop_map(Step::Delete),
        6 => txn().prop_map(Step::Txn),
        2 => read_txn().prop_map(Step::ReadTxn),
        4 => range().prop_map(Step::Range),
        1 => (0..5_i64).prop_map(Step::Compact),
        2 => Just(Step::Scrub),
        1 => (-1..3_i64).prop_map(Step::Grant),
        1 => (-1..3_i64).prop_map(Step::Revoke),
        3 => Just(Step::Flush),
        1 => Just(Step::Restart),
    ]
}

struct World {
    rig: Rig,
    replica: Store,
    replayed: usize,
    model: Model,
    /// Where the watcher of everything began.
    from: i64,
}

const WATCHED: StreamId = StreamId(1);

fn config(resident_bytes: usize) -> Config {
    let mvcc = mvcc::Config { resident_bytes, recent_bytes: resident_bytes };
    Config { mvcc, ..Config::default() }
}

impl World {
    fn new() -> World {
        let replica = Store::new(config(1 << 20));
        World { rig: Rig::new(config(300)), replica, replayed: 0, model: Model::new(), from: 0 }
    }

    fn watch(&mut self) {
        let hub = self.rig.store.hub_mut();
        hub.open(WATCHED, Time(0), Duration::from_secs(600));
        let range = KeyRange::new(&b"\0"[..], &b"\0"[..]);
        let start_revision = self.model.compacted().max(1);
        self.from = start_revision;
        hub.create(WATCHED, &Create { range, prev_kv: true, start_revision, ..Create::default() });
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Put(op) => {
                let applied = self.rig.request(Kind::Put, &convert::put(op)).result;
                let answers = Answers(self.rig.store.reader());
                let answer = applied.map(|outcome| match outcome {
                    Outcome::Put(outcome) => answers.put(&outcome),
                    other => panic!("{other:?}"),
                });
                assert_eq!(answer, self.model.put(op), "{op:?}");
            }
            Step::Delete(op) => {
                let applied = self.rig.request(Kind::DeleteRange, &convert::delete(op)).result;
                let Ok(Outcome::Delete(outcome)) = applied else { panic!("{applied:?}") };
                let answer = Answers(self.rig.store.reader()).delete(&outcome);
                assert_eq!(answer, self.model.delete(op));
            }
            Step::Txn(op) => {
                let applied = self.rig.request(Kind::Txn, &convert::txn(op)).result;
                let answers = Answers(self.rig.store.reader());
                let answer = applied.map(|outcome| match outcome {
                    Outcome::Txn(outcome) => answers.txn(&outcome),
                    other => panic!("{other:?}"),
                });
                assert_eq!(answer, self.model.txn(op), "{op:?}");
            }
            Step::ReadTxn(op) => {
                self.rig.fetch_for(|store| store.needs_for_txn(op));
                let outcome = self.rig.store.read_txn(op);
                let answers = Answers(self.rig.store.reader());
                assert_eq!(outcome.map(|outcome| answers.txn(&outcome)), self.model.txn(op));
            }
            Step::Range(op) => {
                self.rig.fetch_for(|store| store.needs_for_range(op));
                let outcome = self.rig.store.range(op);
                let answers = Answers(self.rig.store.reader());
                assert_eq!(outcome.map(|outcome| answers.range(&outcome)), self.model.range(op));
            }
            Step::Compact(back) => {
                let revision = self.model.revision() - back;
                assert_eq!(self.rig.compact(revision), self.model.compact(revision));
            }
            Step::Scrub => {
                self.rig.store.compact_step(2);
            }
            Step::Grant(id) => {
                if *id != 0 {
                    assert_eq!(self.rig.grant(*id, 60), self.model.grant(*id));
                }
            }
            Step::Revoke(id) => assert_eq!(self.rig.revoke(*id), self.model.revoke(*id)),
            Step::Flush => self.rig.begin_flush(),
            Step::Restart => {
                self.check_watcher();
                self.rig.restart().unwrap();
                self.watch();
            }
        }
    }

    /// The log alone leads to the same state, outcomes included.
    fn check_replica(&mut self) {
        for (index, term, data) in &self.rig.log[self.replayed..] {
            let entry = Entry::decode(data).unwrap();
            assert_eq!(self.replica.needs(&entry), []);
            self.replica.apply(*index, *term, &entry);
        }
        self.replayed = self.rig.log.len();
        let (mine, other) = (&self.rig.store, &self.replica);
        assert_eq!(mine.chain(), other.chain(), "the chain of hashes");
        assert_eq!(mine.revision(), other.revision());
        assert_eq!(mine.keyspace().live_bytes(), other.keyspace().live_bytes(), "the quota's sum");
        assert_eq!(mine.leases(), other.leases());
        mine.leases().check();
        for (id, lease) in mine.leases().iter() {
            let keys: Vec<Vec<u8>> = lease.keys().map(|key| key.to_vec()).collect();
            assert_eq!(keys, self.model.attached(id.0));
        }
    }

    /// The one watcher of everything got everything since it was created.
    fn check_watcher(&mut self) {
        self.rig.catch_up();
        let mut messages = Vec::new();
        while self.rig.store.hub_mut().drain(WATCHED, usize::MAX, &mut messages) {}
        let mut got = Vec::new();
        for message in &messages {
            assert!(!message.canceled, "it is caught up before each compaction");
            for event in decode(message).events {
                let kv = event.kv.unwrap();
                let prev = event.prev_kv.map(|prev| (prev.mod_revision, prev.value.to_vec()));
                got.push((kv.mod_revision, kv.key.to_vec(), event.r#type == 1, prev));
            }
        }
        let due = self.model.changes().iter().filter(|change| self.from <= change.main);
        let due: Vec<_> = due
            .map(|change| {
                let begins = change.kv.as_ref().is_some_and(|kv| kv.version == 1);
                let prev = self.model.prev_of(change).filter(|_| !begins);
                let prev = prev.map(|prev| (prev.modified, prev.value.clone()));
                (change.main, change.key.clone(), change.kv.is_none(), prev)
            })
            .collect();
        assert_eq!(got.len(), due.len());
        for (got, due) in got.iter().zip(&due) {
            assert_eq!((got.0, &got.1, got.2), (due.0, &due.1, due.2));
            let is_gone = got.0 - 1 < self.model.compacted();
            assert!(got.3 == due.3 || (got.3.is_none() && is_gone), "{got:?} {due:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    /// 120 cases of 200 steps.
    #[test]
    fn a_store_answers_as_the_reference_whatever_is_flushed_cold_or_restarted(
        steps in prop::collection::vec((step(), slice()), 200)
    ) {
        let mut world = World::new();
        world.watch();
        for (step, keys_max) in &steps {
            let keys_max = *keys_max;
            let compacts = matches!(step, Step::Compact(_));
            if compacts {
                world.check_watcher();
            }
            world.rig.keys_max = keys_max;
            world.run(step);
            if compacts {
                world.rig.store.hub_mut().close(WATCHED);
                world.watch();
            }
            world.check_replica();
        }
        world.check_watcher();
    }
}

#[test]
fn the_generators_reach_the_cold_and_the_garbage() {
    let mut rig = Rig::new(config(300));
    for n in 0..50 {
        rig.put(&format!("k{}", n % 10), &"v".repeat(40));
        rig.flush();
    }
    let txn = TxnOp {
        compare: vec![Compare {
            range: KeyRange::new(&b"a"[..], &b"z"[..]),
            result: CompareResult::NotEqual,
            target: CompareTarget::Value(Bytes::from("other")),
        }],
        ..TxnOp::default()
    };
    let applied = rig.request(Kind::Txn, &convert::txn(&txn));
    assert!(0 < rig.fetches, "values were cold");
    let Ok(Outcome::Txn(outcome)) = applied.result else { panic!("{applied:?}") };
    assert!(outcome.succeeded);
    rig.compact(51).unwrap();
    while !rig.store.compact_step(3) {}
    assert_eq!(rig.store.pending().removals, 40);
}
