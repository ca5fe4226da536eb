//! Random lives of leases against what was promised: never early, and not for ever.

use crate::{Config, Expiry, Renew, Table};
use bytes::Bytes;
use model::lease::Leases;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;
use types::{Index, LeaseId, Time};

#[derive(Clone, Debug)]
enum Step {
    Grant { id: i64, ttl: i64 },
    Put { key: u8, id: i64 },
    Renew(i64),
    Revoke(i64),
    Pass(u64),
    Propose,
    Apply(usize),
    LeaderChange { loses_log: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (-3..9_i64, 2..40_i64).prop_map(|(id, ttl)| Step::Grant { id, ttl }),
        3 => (any::<u8>(), -3..9_i64).prop_map(|(key, id)| Step::Put { key: key % 12, id }),
        3 => (-3..9_i64).prop_map(Step::Renew),
        1 => (-3..9_i64).prop_map(Step::Revoke),
        4 => (1..4_000_u64).prop_map(Step::Pass),
        4 => Just(Step::Propose),
        4 => (1..4_usize).prop_map(Step::Apply),
        1 => any::<bool>().prop_map(|loses_log| Step::LeaderChange { loses_log }),
    ]
}

/// What is in the log and not applied yet.
enum Entry {
    Expire { id: LeaseId, term: u64, index: Index },
    Checkpoint { id: LeaseId, remaining: i64, term: u64, index: Index },
}

struct World {
    now_ms: u64,
    term: u64,
    index: Index,
    table: Table,
    expiry: Expiry,
    promised: Leases,
    log: VecDeque<Entry>,
}

impl World {
    fn new() -> World {
        let config = Config {
            election_timeout: Duration::from_secs(1),
            spread_per_second: 3,
            retry: Duration::from_secs(3),
            checkpoint_interval: Some(Duration::from_secs(5)),
        };
        let table = Table::default();
        let mut expiry = Expiry::new(config);
        expiry.promote(Time(0), &table);
        World {
            now_ms: 0,
            term: 1,
            index: Index(0),
            table,
            expiry,
            promised: Leases::default(),
            log: VecDeque::new(),
        }
    }

    fn now(&self) -> Time {
        Time::from_millis(self.now_ms)
    }

    fn end(&mut self, id: LeaseId) {
        let keys = self.table.revoke(id).unwrap();
        self.expiry.revoked(id);
        let wanted = self.promised.end(id.0).unwrap();
        assert_eq!(keys, wanted.into_iter().map(Bytes::from).collect::<Vec<_>>());
    }

    /// True if the lease is there and no newer than the decision about it.
    fn holds(&self, id: LeaseId, index: Index) -> bool {
        self.table.get(id).is_some_and(|lease| lease.since <= index)
    }

    fn apply(&mut self, entry: &Entry) {
        match *entry {
            Entry::Expire { id, term, index } if term == self.term && self.holds(id, index) => {
                let lease = &self.promised.leases[&id.0];
                assert!(lease.until_ms <= self.now_ms, "lease {id} ends before it was promised");
                self.end(id);
            }
            Entry::Checkpoint { id, remaining, term, index }
                if term == self.term && self.holds(id, index) =>
            {
                assert!(self.table.checkpoint(id, remaining));
                self.expiry.checkpointed(id, remaining);
            }
            _ => {}
        }
    }

    fn run(&mut self, step: &Step) {
        self.index = self.index.next();
        match *step {
            Step::Grant { id, ttl } => {
                let granted = self.table.grant(self.index, LeaseId(id), ttl).is_ok();
                if id != 0 {
                    let ttl_ms = u64::try_from(ttl).unwrap() * 1000;
                    assert_eq!(granted, self.promised.grant(self.now_ms, id, ttl_ms));
                }
                if granted {
                    self.expiry.granted(self.now(), LeaseId(id), ttl);
                }
            }
            Step::Put { key, id } => {
                let id = if self.table.contains(LeaseId(id)) { id } else { 0 };
                let key = format!("k{key}");
                let from = super::lease_of(&self.table, &key);
                self.table.attach(key.as_bytes(), from, LeaseId(id));
                self.promised.attach(&key, id);
            }
            Step::Renew(id) => match self.expiry.renew(self.now(), LeaseId(id)) {
                Renew::Done { .. } => self.promised.renew(self.now_ms, id),
                Renew::NeedsClear => {
                    let (id, term, index) = (LeaseId(id), self.term, self.index);
                    self.log.push_back(Entry::Checkpoint { id, remaining: 0, term, index });
                }
                Renew::Expired => {
                    assert!(self.promised.leases[&id].until_ms <= self.now_ms);
                }
                Renew::Unknown => assert!(!self.promised.leases.contains_key(&id)),
                Renew::NotLeader => panic!("it leads"),
            },
            Step::Revoke(id) => {
                if self.table.contains(LeaseId(id)) {
                    self.end(LeaseId(id));
                }
            }
            Step::Pass(ms) => self.now_ms += ms,
            Step::Propose => self.propose(),
            Step::Apply(count) => {
                for _ in 0..count.min(self.log.len()) {
                    let entry = self.log.pop_front().unwrap();
                    self.apply(&entry);
                }
            }
            Step::LeaderChange { loses_log } => {
                self.term += 1;
                if loses_log {
                    self.log.clear();
                }
                self.expiry.demote();
                self.expiry.promote(self.now(), &self.table);
            }
        }
        self.table.check();
    }

    fn propose(&mut self) {
        let (now, term, index) = (self.now(), self.term, self.index);
        let mut due = Vec::new();
        self.expiry.due(now, 2, &mut due);
        self.log.extend(due.into_iter().map(|id| Entry::Expire { id, term, index }));
        let mut due = Vec::new();
        self.expiry.checkpoints_due(now, 2, &mut due);
        let entry = |(id, remaining)| Entry::Checkpoint { id, remaining, term, index };
        self.log.extend(due.into_iter().map(entry));
    }

    /// Nobody renews any more: every lease ends, within its TTL and what is allowed on top.
    fn finish(&mut self) {
        let last = self.promised.leases.values().map(|lease| lease.until_ms).max();
        let spread_ms = 1000 * u64::try_from(self.promised.leases.len()).unwrap();
        // A change of leader just now may have given a lease its whole TTL again.
        self.now_ms = self.now_ms.max(last.unwrap_or(0)) + 40_000 + spread_ms + 4_000;
        for _ in 0..100 {
            self.propose();
            while let Some(entry) = self.log.pop_front() {
                self.apply(&entry);
            }
        }
        assert!(self.promised.leases.is_empty(), "{:?} live for ever", self.promised);
        assert!(self.table.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    /// 250 cases of 200 steps.
    #[test]
    fn no_lease_ends_before_it_was_promised(steps in prop::collection::vec(step(), 200)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
        world.finish();
    }
}
