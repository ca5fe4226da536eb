//! Members as real processes that are killed, paused and stopped under writers, round after round:
//! everything acknowledged is there afterwards, on every member, and all members hold the same.

mod fault;
mod members;
mod probe;

use crate::dice::Dice;
use crate::recorder::Recorder;
use crate::watching::Watched;
use crate::writer::{GivenUp, Writer};
use anyhow::{Context, Result, ensure};
use clap::Args;
use fault::Fault;
use members::Members;
use probe::Probe;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags: `target/release/mainstay serve`.
    #[arg(long)]
    pub server: String,
    /// Members.
    #[arg(long, default_value_t = 3)]
    pub members: usize,
    /// Faults, one after the other.
    #[arg(long, default_value_t = 24)]
    pub rounds: u64,
    /// Seed of the writers' choices and of the moments of the faults.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only this fault.
    #[arg(long)]
    pub fault: Option<Fault>,
    /// Flags for the servers, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

/// Writers at each member.
const WRITERS: usize = 3;
/// Time for a member to serve again.
const READY: Duration = Duration::from_secs(40);
/// Writes before each fault, below which a round would test nothing.
const WRITES_BEFORE: u64 = 100;
/// How long writers go on after a fault at most, until they got on again.
const AFTER: Duration = Duration::from_secs(15);

/// Runs the rounds and fails with everything that contradicts the record.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let members = Members::new(&options.server, options.members, folder.path(), &options.flags)?;
    let recorder = Rc::new(RefCell::new(Recorder { outlives: true, ..Recorder::default() }));
    let mut run = Run {
        members,
        recorder,
        watched: Watched::new(),
        dice: Dice::new(options.seed),
        retired: BTreeMap::new(),
        gaps: BTreeMap::new(),
    };
    let result = run.rounds(&options).await;
    if result.is_err() {
        let kept = folder.keep();
        return result.with_context(|| format!("logs and data: {}", kept.display()));
    }
    run.report(&options)
}

struct Run {
    members: Members,
    recorder: Rc<RefCell<Recorder>>,
    watched: Watched,
    dice: Dice,
    /// Keys that writers gave up, by writer.
    retired: BTreeMap<u64, GivenUp>,
    /// Longest time without an acknowledged write, by fault.
    gaps: BTreeMap<Fault, Vec<Duration>>,
}

impl Run {
    async fn rounds(&mut self, options: &Options) -> Result<()> {
        for round in 0..options.rounds {
            let turn = usize::try_from(round).unwrap_or(0) % Fault::ALL.len();
            let fault = options.fault.unwrap_or(Fault::ALL[turn]);
            self.round(round, fault).await.with_context(|| format!("round {round}, {fault:?}"))?;
        }
        self.verify(options.rounds).await?;
        self.watched.judge(&mut self.recorder.borrow_mut());
        self.fail_on_violations()
    }

    async fn round(&mut self, round: u64, fault: Fault) -> Result<()> {
        self.verify(round).await?;
        let stop = Rc::new(Cell::new(false));
        let writers = self.start_writers(&stop)?;
        let probes = self.members.start_probes(&stop)?;
        let before = self.recorder.borrow().acknowledged;
        self.until_acknowledged(before + WRITES_BEFORE).await?;
        crate::wait::pause(Duration::from_micros(self.dice.below(200_000))).await;
        let began = Instant::now();
        let hit = fault.strike(&mut self.members, &mut self.dice).await?;
        let survivors = (0..self.members.len()).filter(|at| !hit.contains(at));
        let survivors: Vec<usize> = survivors.collect();
        let recovered = Probe::until_all_since(&probes, &survivors, began, AFTER).await;
        fault.heal(&mut self.members, &hit)?;
        if fault.keeps_quorum() {
            recovered.context("no writes at the other members")?;
            let gap = Probe::longest_gap(&probes, &survivors, began);
            self.gaps.entry(fault).or_default().push(gap);
        }
        self.members.ready(READY).await?;
        stop.set(true);
        for writer in writers {
            let (number, retired) = writer.await?;
            self.retired.insert(number, retired);
        }
        for probe in probes {
            probe.end().await?;
        }
        Ok(())
    }

    fn start_writers(&mut self, stop: &Rc<Cell<bool>>) -> Result<Vec<JoinHandle<(u64, GivenUp)>>> {
        let mut writers = Vec::new();
        for at in 0..WRITERS * self.members.len() {
            let number = u64::try_from(at)?;
            let writer = Writer {
                number,
                client: self.members.client(at % self.members.len())?,
                recorder: Rc::clone(&self.recorder),
                stop: Rc::clone(stop),
                dice: Dice::new(self.dice.draw()),
                retired: Some(self.retired.remove(&number).unwrap_or_default()),
            };
            writers.push(tokio::task::spawn_local(async move {
                let retired = writer.run().await;
                (number, retired.unwrap_or_default())
            }));
        }
        Ok(writers)
    }

    async fn until_acknowledged(&self, count: u64) -> Result<()> {
        let deadline = Instant::now() + READY;
        while self.recorder.borrow().acknowledged < count {
            ensure!(Instant::now() < deadline, "the writers do not get on");
            crate::wait::pause(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Every member serves what was acknowledged, and all hold the same.
    async fn verify(&mut self, round: u64) -> Result<()> {
        self.members.start_all()?;
        self.members.ready(READY).await?;
        let mut revision = 0;
        for at in 0..self.members.len() {
            let (served, seen, leases) = self.members.read(at).await?;
            let mut recorder = self.recorder.borrow_mut();
            recorder.settle(&served, seen);
            recorder.settle_leases(&leases);
            revision = seen;
        }
        self.fail_on_violations()?;
        let at = usize::try_from(round)? % self.members.len();
        let client = self.members.client(at)?;
        self.watched.catch_up(&client, revision).await?;
        self.members.same_hashes(revision).await
    }

    fn fail_on_violations(&self) -> Result<()> {
        let recorder = self.recorder.borrow();
        ensure!(recorder.violations.is_empty(), "{}", recorder.violations.join("\n  "));
        Ok(())
    }

    fn report(&self, options: &Options) -> Result<()> {
        let recorder = self.recorder.borrow();
        for (fault, gaps) in &self.gaps {
            let mut sorted = gaps.clone();
            sorted.sort_unstable();
            let (middle, longest) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
            say(&format!(
                "{fault:?}: longest time without a write at the others: p50 {} ms, max {} ms of {}",
                middle.as_millis(),
                longest.as_millis(),
                sorted.len()
            ));
        }
        say(&format!(
            "cluster of {}: {} rounds, {} acknowledged, {} unknown outcomes, {} events, 0 violations",
            options.members,
            options.rounds,
            recorder.acknowledged,
            recorder.unknown,
            self.watched.changes.len()
        ));
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "the result lines of a gate")]
fn say(line: &str) {
    println!("{line}");
}
