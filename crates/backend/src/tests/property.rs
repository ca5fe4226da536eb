//! Random histories against a map, with starts, power losses and old readers in between.

use super::support::*;
use crate::{Backend, Delta, FlushJob, Meta, Pace, Reader, TableId};
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::Arc;
use types::{Index, Record, Revision};
use vfs::sim::SimDisk;
use vfs::sim::choices::Seeded;

#[derive(Clone, Debug)]
enum Op {
    /// {records as (sub changes, value length, tombstone)}, rows, how many to remove.
    Flush(Vec<(u8, u16, bool)>, Vec<(u8, u8, Option<u8>)>, u8),
    Rewrite(bool),
    Kill,
    PowerLoss(u64),
    Keep,
}

fn op() -> impl Strategy<Value = Op> {
    let records = prop::collection::vec((1..4u8, 0..3_000u16, any::<bool>()), 0..12);
    let rows = prop::collection::vec((0..3u8, 0..6u8, any::<Option<u8>>()), 0..4);
    prop_oneof![
        6 => (records, rows, 0..20u8).prop_map(|(records, rows, gone)| Op::Flush(records, rows, gone)),
        2 => any::<bool>().prop_map(Op::Rewrite),
        1 => Just(Op::Kill),
        1 => any::<u64>().prop_map(Op::PowerLoss),
        1 => Just(Op::Keep),
    ]
}

struct World {
    disk: SimDisk,
    backend: Backend,
    model: Model,
    /// What was removed, in case a start brings it back as garbage.
    removed: Vec<Revision>,
    main: i64,
    kept: Vec<(Reader, Vec<Record>)>,
}

impl World {
    fn flush(&mut self, records: &[(u8, u16, bool)], rows: &[(u8, u8, Option<u8>)], gone: u8) {
        let mut job = FlushJob::default();
        for (subs, len, dead) in records {
            self.main += 1;
            for sub in 0..i64::from(*subs) {
                let key = format!("k{}", (self.main + sub) % 9);
                job.records.push(match dead {
                    true => tombstone(self.main, sub, &key),
                    false => put(self.main, sub, &key, &value(usize::from(*len), self.main)),
                });
            }
        }
        for (table, key, value) in rows {
            job.deltas.push(Delta {
                table: TableId(*table),
                key: Bytes::copy_from_slice(&[*key]),
                value: value.map(|value| Bytes::from(vec![value; usize::from(value)])),
            });
        }
        let live: Vec<Revision> = self.model.records.keys().copied().collect();
        let step = (live.len() / usize::from(gone).max(1)).max(1);
        job.removals = live.into_iter().step_by(step).take(usize::from(gone)).collect();
        self.removed.extend(&job.removals);
        let applied = Index(self.model.meta.applied.0 + 1);
        job.meta = Meta { applied, revision: self.main, ..Meta::default() };
        self.model.flush(&job);
        self.backend.flush(&job).unwrap();
    }

    fn reopen(&mut self) {
        self.kept.clear();
        let opened = Backend::open(Arc::new(self.disk.clone()), DIR, config()).unwrap();
        let (backend, mut recovered) = opened;
        self.backend = backend;
        assert_eq!(recovered.cut, None);
        let mut found = contents(&mut recovered).unwrap();
        // Removals are not durable: garbage may be back, and is named again, as mvcc does.
        let back: Vec<Revision> =
            self.removed.iter().copied().filter(|r| found.records.remove(r).is_some()).collect();
        assert_eq!(found, self.model);
        let job = FlushJob { meta: self.model.meta.clone(), removals: back, ..FlushJob::default() };
        self.backend.flush(&job).unwrap();
    }

    fn check(&self) {
        let reader = self.backend.reader();
        let mut found = all(&reader).unwrap();
        found.retain(|record| !self.removed.contains(&record.revision));
        assert!(found.iter().eq(self.model.records.values()));
        for (revision, record) in self.model.records.iter().step_by(7) {
            assert_eq!(reader.get(*revision).unwrap().as_ref(), Some(record));
        }
        for (reader, seen) in &self.kept {
            assert_eq!(&all(reader).unwrap(), seen);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_history_reads_back(ops in prop::collection::vec(op(), 1..40)) {
        let disk = SimDisk::new();
        let backend = create(&disk);
        let (model, removed, kept) = (Model::default(), Vec::new(), Vec::new());
        let mut world = World { disk, backend, model, removed, main: 1, kept };
        for op in &ops {
            match op {
                Op::Flush(records, rows, gone) => world.flush(records, rows, *gone),
                Op::Rewrite(now) => {
                    let pace = if *now { Pace::Now } else { Pace::Paced };
                    world.backend.rewrite_step(pace).unwrap();
                }
                Op::Kill => {
                    world.disk.kill();
                    world.reopen();
                }
                Op::PowerLoss(seed) => {
                    let mut seeded = Seeded::new(*seed);
                    world.disk.power_loss(&mut |options| seeded.choose(options));
                    world.reopen();
                }
                Op::Keep => {
                    let reader = world.backend.reader();
                    let seen = all(&reader).unwrap();
                    world.kept.push((reader, seen));
                }
            }
            world.check();
        }
    }
}
