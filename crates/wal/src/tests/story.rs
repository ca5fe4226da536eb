//! A workload that can be stopped anywhere, and the check of what a later start finds.

use super::fixture::*;
use crate::*;
use ::types::Index;
use std::sync::Arc;
use vfs::sim::SimDisk;
use vfs::sim::choices::{Exhaustive, Seeded};

/// What the log must hold: entries 1 to n, and the hard state.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct State {
    pub(crate) entries: Vec<Entry>,
    pub(crate) hard_state: HardState,
}

impl State {
    fn with(&self, batch: &Batch) -> State {
        let mut state = self.clone();
        for frame in &batch.frames {
            match frame {
                Frame::Entry(entry) => {
                    state.entries.truncate(entry.index.0 as usize - 1);
                    state.entries.push(entry.clone());
                }
                Frame::HardState(hard_state) => state.hard_state = *hard_state,
                _ => {}
            }
        }
        state
    }
}

/// How far a workload came.
#[derive(Clone, Default)]
pub(crate) struct Run {
    /// True once `Wal::create` returned.
    pub(crate) created: bool,
    /// After the last append that returned.
    pub(crate) acked: State,
    /// After the append that did not, if there was one.
    pub(crate) tried: Option<State>,
    /// Entries up to here may be missing.
    pub(crate) trimmed: u64,
    /// The error that ended it.
    pub(crate) error: Option<Error>,
}

/// Small segments, so that a short workload rolls, trims and recycles.
pub(crate) fn small(mutant: Option<Mutant>) -> WalConfig {
    WalConfig { mutant, ..config(16 << 10) }
}

impl Run {
    /// Appends, unless something failed before; a full disk is tried once more from the reserve.
    pub(crate) fn append(&mut self, wal: &mut Wal, batch: &Batch) -> Result<()> {
        let next = self.acked.with(batch);
        self.tried = Some(next.clone());
        match wal.append(batch) {
            Err(Error::NoSpace(_)) => wal.append_with(batch, Use::Reserve)?,
            result => result?,
        }
        self.acked = next;
        self.tried = None;
        Ok(())
    }

    /// Appends the next entry.
    pub(crate) fn put(&mut self, wal: &mut Wal, len: usize) -> Result<()> {
        let last = self.acked.entries.len() as u64;
        let term = self.acked.hard_state.term.0.max(1);
        let mut frames = vec![Frame::Entry(entry(last + 1, term, len))];
        frames.push(hard_state(term, 1, last));
        self.append(wal, &Batch { frames })
    }

    fn trim(&mut self, wal: &mut Wal, upto: u64) -> Result<()> {
        self.trimmed = upto;
        match wal.trim(Index(upto)) {
            Err(Error::NoSpace(_)) => Ok(()),
            result => result,
        }
    }

    fn story(&mut self, wal: &mut Wal) -> Result<()> {
        for (step, len) in [40, 5000, 700, 9000, 40, 30_000, 3000, 6000].into_iter().enumerate() {
            self.put(wal, len)?;
            if step % 3 == 2 {
                self.trim(wal, step as u64)?;
            }
        }
        let last = self.acked.entries.len() as u64;
        let replaced = vec![
            Frame::Entry(entry(last, 2, 4500)),
            Frame::Entry(entry(last + 1, 2, 300)),
            hard_state(2, 1, last - 1),
        ];
        self.append(wal, &Batch { frames: replaced })?;
        wal.seal()?;
        self.put(wal, 2000)?;
        self.trim(wal, last)?;
        for len in [3000, 9000, 40] {
            self.put(wal, len)?;
        }
        self.trim(wal, last + 2)?;
        self.put(wal, 5000)
    }
}

/// Runs the workload on a new disk until it ends or fails. `before` may plant faults and stops.
pub(crate) fn run(disk: &SimDisk, mutant: Option<Mutant>) -> Run {
    let mut run = Run::default();
    let shared = Arc::new(disk.clone());
    let config = small(mutant);
    let result = Wal::create(shared, "member/wal", config, IDENTITY, "members".into());
    let result = result.and_then(|(mut wal, _)| {
        run.created = true;
        run.story(&mut wal)
    });
    run.error = result.err();
    run
}

/// Checks what a start found against what had been promised.
pub(crate) fn check(run: &Run, recovered: &Recovered) -> std::result::Result<(), String> {
    let base = recovered.base.index.0;
    if run.trimmed < base {
        return Err(format!("entries up to {base} are gone, trimmed is {}", run.trimmed));
    }
    let matches = |state: &State| {
        let from = (base as usize).min(state.entries.len());
        recovered.entries == state.entries[from..] && recovered.hard_state == state.hard_state
    };
    if matches(&run.acked) || run.tried.as_ref().is_some_and(matches) {
        return Ok(());
    }
    let (acked, last) = (run.acked.entries.len(), recovered.last().index);
    Err(format!("acknowledged up to {acked}, found up to {last} with {:?}", recovered.hard_state))
}

/// Opens, checks, opens again: the second start must find the same, and nothing to cut.
/// Then a promise made after the start must survive a power loss.
pub(crate) fn restart(
    disk: &SimDisk,
    run: &Run,
    mutant: Option<Mutant>,
) -> std::result::Result<(), String> {
    let mut wal = match open(disk, small(mutant)) {
        Ok((first, recovered)) => {
            drop(first);
            check(run, &recovered)?;
            disk.kill();
            let (wal, again) = open(disk, small(mutant)).map_err(|e| format!("second: {e}"))?;
            let same = again.entries == recovered.entries && again.base == recovered.base;
            if again.cut.is_some() || !same || again.boot != recovered.boot + 1 {
                return Err(format!("the second start found {again:?}"));
            }
            if let Some(tried) = &run.tried {
                let kept = tried.hard_state == again.hard_state
                    && tried.entries.len() as u64 == again.last().index.0;
                let acked = if kept { tried } else { &run.acked };
                return go_on(disk, wal, Run { acked: acked.clone(), ..run.clone() }, mutant);
            }
            wal
        }
        Err(Error::Refused(_)) if !run.created => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    wal.seal().map_err(|error| error.to_string())?;
    go_on(disk, wal, run.clone(), mutant)
}

fn go_on(
    disk: &SimDisk,
    mut wal: Wal,
    mut run: Run,
    mutant: Option<Mutant>,
) -> std::result::Result<(), String> {
    for len in [100, 7000] {
        run.put(&mut wal, len).map_err(|error| error.to_string())?;
    }
    disk.power_loss(&mut |_| 0);
    let (_, recovered) = open(disk, small(mutant)).map_err(|error| format!("after: {error}"))?;
    check(&run, &recovered)
}

/// Calls `case` with every outcome of a power loss, or with `samples` drawn ones if there are
/// more than `most`.
pub(crate) fn power_losses(
    disk: &SimDisk,
    (most, samples): (usize, u64),
    mut case: impl FnMut(SimDisk) -> std::result::Result<(), String>,
) -> std::result::Result<u64, String> {
    let mut all = Exhaustive::default();
    let probe = disk.snapshot();
    probe.power_loss(&mut |n| all.choose(n));
    // What the choices are depends on earlier ones, so this is an estimate.
    if all.combinations() <= most {
        let mut cases = 0;
        all = Exhaustive::default();
        loop {
            let copy = disk.snapshot();
            copy.power_loss(&mut |n| all.choose(n));
            case(copy)?;
            cases += 1;
            if !all.advance() {
                return Ok(cases);
            }
        }
    }
    for seed in 0..samples {
        let copy = disk.snapshot();
        let mut seeded = Seeded::new(seed);
        match seed {
            0 => copy.power_loss(&mut |_| 0),
            1 => copy.power_loss(&mut |n| 1.min(n - 1)),
            _ => copy.power_loss(&mut |n| seeded.choose(n)),
        }
        case(copy).map_err(|text| format!("seed {seed}: {text}"))?;
    }
    Ok(samples)
}
