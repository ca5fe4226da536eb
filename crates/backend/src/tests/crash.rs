//! CM-3: the power goes after each effect, with the legal outcomes of what was not synced.

use super::support::*;
use crate::{Backend, Config, Error, FlushJob, Pace};
use std::sync::Arc;
use types::Revision;
use vfs::sim::SimDisk;
use vfs::sim::choices::{Exhaustive, Seeded};

/// Outcomes tried one by one at a point; if there are more, `SAMPLED` random ones are.
const EXHAUSTIVE_MAX: usize = 4096;
const SAMPLED: u64 = 1000;

/// One thing a run does.
pub(super) enum Op {
    Flush(FlushJob),
    Rewrite,
}

/// Jobs that fill several segments, garbage, rewrites and drops.
pub(super) fn ops() -> Vec<Op> {
    let mut ops = vec![];
    let mut main = 2;
    for n in 0..9 {
        let mut next = job(main..=main + 3, 700);
        if n == 4 {
            next.removals = (2..12).map(|main| Revision::new(main, 0)).collect();
        }
        if n == 6 {
            next.removals = (13..25).map(|main| Revision::new(main, 0)).collect();
        }
        ops.push(Op::Flush(next));
        if 4 <= n {
            ops.push(Op::Rewrite);
        }
        main += 4;
    }
    ops
}

pub(super) fn tiny() -> Config {
    Config { segment_bytes: 16 * 1024, ..config() }
}

/// Runs until something fails; how many flushes were acknowledged, `None` if not even the
/// creation was.
pub(super) fn run(disk: &SimDisk, config: &Config, ops: &[Op]) -> (Option<usize>, Option<Error>) {
    let mut backend = match Backend::create(Arc::new(disk.clone()), DIR, config.clone()) {
        Ok((backend, _)) => backend,
        Err(error) => return (None, Some(error)),
    };
    let mut acked = 0;
    for op in ops {
        let result = match op {
            Op::Flush(job) => backend.flush(job).map(|_| acked += 1),
            Op::Rewrite => backend.rewrite_step(Pace::Now).map(|_| ()),
        };
        if let Err(error) = result {
            return (Some(acked), Some(error));
        }
    }
    (Some(acked), None)
}

/// The state after each number of flushes.
pub(super) fn models(ops: &[Op]) -> Vec<Model> {
    let mut models = vec![Model::default()];
    for op in ops {
        if let Op::Flush(job) = op {
            let mut next = models.last().unwrap().clone();
            next.flush(job);
            models.push(next);
        }
    }
    models
}

/// Which of the two states that are legal after a crash a start finds; garbage may be left.
pub(super) fn state_of(found: &Model, models: &[Model], acked: usize) -> Result<usize, String> {
    let legal = acked..(acked + 2).min(models.len());
    for at in legal.clone() {
        let model = &models[at];
        let same = found.meta == model.meta
            && found.tables == model.tables
            && model.records.iter().all(|(at, record)| found.records.get(at) == Some(record))
            && found.records.iter().all(|(revision, record)| {
                let before = models[..=at].iter().any(|m| m.records.get(revision) == Some(record));
                before || model.records.contains_key(revision)
            });
        if same {
            return Ok(at);
        }
    }
    let (revision, count) = (found.meta.revision, found.records.len());
    Err(format!("state at {revision} with {count} records is none of {legal:?}"))
}

/// Opens after a crash and checks what is found, twice in a row and after another power loss.
fn check(disk: &SimDisk, models: &[Model], acked: Option<usize>) -> Result<(), String> {
    let reopen = |disk: &SimDisk| Backend::open(Arc::new(disk.clone()), DIR, tiny());
    let found = match (reopen(disk), acked) {
        (Ok((_, mut recovered)), _) => contents(&mut recovered).map_err(|e| e.to_string())?,
        (Err(Error::Missing { .. }), None) => {
            // Half of a creation: it is done again.
            disk.kill();
            return match run(disk, &tiny(), &[]) {
                (Some(0), None) => Ok(()),
                (_, error) => Err(format!("creation cannot be repeated: {error:?}")),
            };
        }
        (Err(error), _) => return Err(error.to_string()),
    };
    let first = state_of(&found, models, acked.unwrap_or(0))?;
    disk.kill();
    reopen(disk).map_err(|error| format!("the second start: {error}"))?;
    // What a start has shown must survive the next power loss, whatever it drops.
    disk.power_loss(&mut |_| 0);
    let (_, mut recovered) = reopen(disk).map_err(|error| format!("the third start: {error}"))?;
    let again = contents(&mut recovered).map_err(|error| error.to_string())?;
    match recovered.cut {
        Some(cut) => Err(format!("a settled store was cut: {cut:?}")),
        None if again != found => Err(format!("state {first} changed without a write")),
        None => Ok(()),
    }
}

/// Runs `outcome` with each choice of a power loss, or with random ones if there are too many.
fn with_choices(mut outcome: impl FnMut(&mut dyn FnMut(usize) -> usize)) -> usize {
    let mut all = Exhaustive::default();
    let mut count = 0;
    loop {
        outcome(&mut |options| all.choose(options));
        count += 1;
        if !all.advance() {
            return count;
        }
        if all.combinations() > EXHAUSTIVE_MAX || count > EXHAUSTIVE_MAX {
            break;
        }
    }
    for seed in 0..SAMPLED {
        let mut seeded = Seeded::new(seed);
        outcome(&mut |options| seeded.choose(options));
        count += 1;
    }
    count
}

/// Crashes `config` after each effect; what was found to be wrong.
fn crash_everywhere(config: &Config) -> (u64, usize, Vec<String>) {
    let (ops, mut wrong, mut cases) = (ops(), Vec::new(), 0);
    let models = models(&ops);
    let disk = SimDisk::new();
    assert!(run(&disk, config, &ops).1.is_none(), "the run itself is sound");
    let effects = disk.effects();
    for effect in 0..effects {
        let disk = SimDisk::new();
        disk.stop_after(effect);
        let (acked, _) = run(&disk, config, &ops);
        cases += with_choices(|choose| {
            let crashed = disk.snapshot();
            crashed.power_loss(choose);
            if let Err(text) = check(&crashed, &models, acked) {
                wrong.push(format!("power loss after effect {effect}: {text}"));
            }
        });
        let killed = disk.snapshot();
        if let Err(text) = check(&killed, &models, acked) {
            wrong.push(format!("kill after effect {effect}: {text}"));
        }
        cases += 1;
    }
    (effects, cases, wrong)
}

#[test]
fn a_crash_after_any_effect_leaves_whole_jobs() {
    let (effects, cases, wrong) = crash_everywhere(&tiny());
    assert!(wrong.is_empty(), "{} of {cases} cases: {}", wrong.len(), wrong[0]);
    assert!(100 < effects, "only {effects} effects");
    assert!(10_000 < cases, "only {cases} cases");
}

#[test]
fn a_crash_within_recovery_changes_nothing() {
    let ops = ops();
    let models = models(&ops);
    let disk = SimDisk::new();
    run(&disk, &tiny(), &ops);
    let mut recoveries = 0;
    for effect in (8..disk.effects()).step_by(3) {
        let disk = SimDisk::new();
        disk.stop_after(effect);
        let (acked, _) = run(&disk, &tiny(), &ops);
        for seed in 0..4 {
            let crashed = disk.snapshot();
            let mut seeded = Seeded::new(seed);
            crashed.power_loss(&mut |options| seeded.choose(options));
            for within in 0.. {
                let again = crashed.snapshot();
                again.stop_after(within);
                let whole = Backend::open(Arc::new(again.clone()), DIR, tiny()).is_ok();
                again.power_loss(&mut |options| seeded.choose(options));
                check(&again, &models, acked).unwrap_or_else(|text| {
                    panic!("effect {effect}, then effect {within} of the start: {text}")
                });
                recoveries += 1;
                if whole || acked.is_none() {
                    break;
                }
            }
        }
    }
    assert!(500 < recoveries, "only {recoveries} recoveries");
}

#[test]
fn an_applied_index_outside_the_datas_step_is_caught() {
    let mutant = Some(crate::Mutant::AppliedOutsideStep);
    let (_, _, wrong) = crash_everywhere(&Config { mutant, ..tiny() });
    assert!(!wrong.is_empty(), "the planted bug was not found");
}
