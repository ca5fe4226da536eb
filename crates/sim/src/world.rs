//! The world of one run: a queue of actions by time, and the loop that pops them.

use crate::client::Client;
use crate::fault::{self, End, Kind};
use crate::invariant;
use crate::mutant::Mutant;
use crate::oracle::Oracle;
use crate::process::{HelperJob, Process};
use crate::report::{Counts, Report, Violation};
use crate::rng::Rng;
use crate::swarm::Swarm;
use crate::trace::Trace;
use crate::watcher::Watcher;
use std::collections::BTreeMap;
use std::time::Duration;
use types::{KeyRange, Time};
use vfs::sim::SimDisk;

/// How to run a seed.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// The planted bug.
    pub mutant: Option<Mutant>,
    /// Keep the last lines of the trace for the report of a violation.
    pub is_verbose: bool,
}

/// What happens at some time. Actions of an earlier life of the process are void.
#[derive(Debug)]
pub(crate) enum Action {
    Start,
    Turn(u64),
    Tick(u64),
    /// The log thread finishes its first job.
    Log(u64),
    /// The log was idle since this append.
    Idle(u64, u64),
    /// The flush thread finishes its first job.
    Flush(u64),
    Helper(u64, HelperJob),
    Client(usize),
    OpenWatch(usize),
    Drain(u64, usize),
    Fault,
    /// This fault, now.
    Strike(Kind),
    SpaceBack,
    SyncsFast,
}

/// Where a run stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Clients ask, faults strike.
    Busy,
    /// No fault strikes any more; clients finish what they asked.
    Healing,
    /// Nobody asks; leases run out.
    Resting,
}

/// Everything of one run.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) options: Options,
    pub(crate) rng: Rng,
    pub(crate) swarm: Swarm,
    pub(crate) now: Time,
    queue: BTreeMap<(Time, u64), Action>,
    sequence: u64,
    pub(crate) disk: SimDisk,
    pub(crate) process: Option<Process>,
    /// Number of the life of the process.
    pub(crate) life: u64,
    /// How the process ends when a call to the disk fails.
    pub(crate) armed: Option<End>,
    /// After the next start the power goes.
    pub(crate) power_loss_next: bool,
    /// The disk as it was before it rotted.
    pub(crate) sound: Option<SimDisk>,
    pub(crate) syncs_slow: bool,
    pub(crate) is_full: bool,
    pub(crate) oracle: Oracle,
    pub(crate) clients: Vec<Client>,
    pub(crate) watchers: Vec<Watcher>,
    pub(crate) requests: u64,
    pub(crate) streams: u64,
    pub(crate) phase: Phase,
    rest_until: Time,
    pub(crate) counts: Counts,
    pub(crate) trace: Trace,
}

/// Longest run in simulated time: one that is not done by then is stuck.
const RUN_MAX: Duration = Duration::from_secs(1200);
/// The longest TTL that clients ask for, in seconds, with room for the minimum and expiry.
const LEASE_REST: Duration = Duration::from_secs(20);

/// Runs one seed to its end, or to the first violation.
pub fn run(seed: u64, options: Options) -> Result<Report, Violation> {
    let mut world = World::new(seed, options);
    match world.run() {
        Ok(()) => {
            world.counts.simulated_ms = world.now.0 / 1_000_000;
            Ok(Report { trace: world.trace.hash(), counts: world.counts })
        }
        Err(mut violation) => {
            violation.at = world.now;
            violation.lines = world.trace.take_lines();
            Err(violation)
        }
    }
}

impl World {
    fn new(seed: u64, options: Options) -> World {
        let mut rng = Rng::new(seed);
        let swarm = Swarm::draw(&mut rng);
        let disk = SimDisk::new();
        disk.set_device_reads(swarm.device_reads);
        let clients = (0..swarm.clients).map(|_| Client::default()).collect();
        let mut world = World {
            seed,
            options,
            rng,
            swarm,
            now: Time(0),
            queue: BTreeMap::new(),
            sequence: 0,
            disk,
            process: None,
            life: 0,
            armed: None,
            power_loss_next: false,
            sound: None,
            syncs_slow: false,
            is_full: false,
            oracle: Oracle::default(),
            clients,
            watchers: Vec::new(),
            requests: 0,
            streams: 0,
            phase: Phase::Busy,
            rest_until: Time(0),
            counts: Counts::default(),
            trace: Trace::new(options.is_verbose),
        };
        world.watchers = (0..world.swarm.watchers).map(|_| world.new_watcher()).collect();
        world
    }

    fn new_watcher(&mut self) -> Watcher {
        let key = format!("k{:02}", self.rng.below(self.swarm.keys));
        let range = match self.rng.below(3) {
            0 => KeyRange::single(key.into_bytes()),
            1 => KeyRange::new(key.into_bytes(), &b"\0"[..]),
            _ => KeyRange::new(&b"k"[..], &b"l"[..]),
        };
        Watcher {
            range,
            prev_kv: self.rng.chance(40),
            no_delete: self.rng.chance(20),
            stream: None,
            next: 0,
            at: 0,
            is_created: false,
            is_draining: false,
        }
    }

    fn run(&mut self) -> Result<(), Violation> {
        self.schedule(Duration::ZERO, Action::Start);
        for at in 0..self.clients.len() {
            self.schedule(Duration::from_millis(1), Action::Client(at));
        }
        for at in 0..self.watchers.len() {
            self.schedule(Duration::from_millis(1), Action::OpenWatch(at));
        }
        self.schedule_fault();
        while !self.is_over() {
            let Some(((time, _), action)) = self.queue.pop_first() else {
                return Err(Violation::new("liveness", "nothing happens any more".to_owned()));
            };
            self.now = time;
            if RUN_MAX < self.now.since(Time(0)) {
                let text = format!("{:?}, {:?}", self.phase, self.counts);
                return Err(Violation::new("liveness", text));
            }
            self.act(action)?;
            self.move_on();
        }
        self.check_end()
    }

    fn act(&mut self, action: Action) -> Result<(), Violation> {
        match action {
            Action::Start => self.start(),
            Action::Turn(life) if life == self.life => self.turn(),
            Action::Tick(life) if life == self.life => self.tick(),
            Action::Log(life) if life == self.life => self.run_log_job(),
            Action::Idle(life, appends) if life == self.life => self.log_is_idle(appends),
            Action::Flush(life) if life == self.life => self.run_flush_job(),
            Action::Helper(life, job) if life == self.life => self.run_helper(job),
            Action::Drain(life, watcher) if life == self.life => self.drain(watcher),
            Action::Client(client) => self.ask(client),
            Action::OpenWatch(watcher) => self.open_watch(watcher),
            Action::Fault => {
                if self.phase == Phase::Busy {
                    let kind = self.rng.pick(&self.swarm.faults.clone());
                    self.schedule_fault();
                    return self.strike(kind);
                }
                Ok(())
            }
            Action::Strike(kind) => self.strike(kind),
            Action::SpaceBack => self.space_back(),
            Action::SyncsFast => {
                self.syncs_slow = false;
                Ok(())
            }
            // Of an earlier life.
            _ => Ok(()),
        }
    }

    pub(crate) fn schedule(&mut self, after: Duration, action: Action) {
        self.sequence += 1;
        self.queue.insert((self.now + after, self.sequence), action);
    }

    fn schedule_fault(&mut self) {
        let most = self.swarm.fault_interval.as_millis();
        let most = u64::try_from(most).expect("a short time");
        let after = Duration::from_millis(self.rng.between(50, most.max(51)));
        self.schedule(after, Action::Fault);
    }

    /// Enters the next phase when the one of now has done its work.
    fn move_on(&mut self) {
        match self.phase {
            Phase::Busy if self.swarm.writes <= self.counts.acked_writes => {
                if self.counts.faults_landed == 0 || self.counts.recoveries == 0 {
                    // What this seed may meet has not struck so far.
                    self.swarm.writes += 20;
                    let kind = self.rng.pick(&[Kind::Kill, Kind::PowerLoss]);
                    self.schedule(Duration::from_millis(1), Action::Strike(kind));
                    return;
                }
                self.phase = Phase::Healing;
                self.syncs_slow = false;
                self.schedule(Duration::ZERO, Action::SpaceBack);
                if self.armed.is_some() || self.power_loss_next {
                    // A quiet disk would never meet the fault that was laid.
                    self.schedule(Duration::from_millis(50), Action::Strike(Kind::Kill));
                }
            }
            Phase::Healing => {
                let is_ready = self.process.as_ref().is_some_and(|process| process.is_ready);
                let is_idle = self.clients.iter().all(|client| client.outstanding.is_none());
                let is_calm = self.armed.is_none() && !self.power_loss_next;
                if is_ready && is_idle && is_calm {
                    self.phase = Phase::Resting;
                    self.rest_until = self.now + LEASE_REST + self.swarm.election * 2;
                }
            }
            Phase::Busy | Phase::Resting => {}
        }
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Resting && self.rest_until <= self.now
    }

    /// What must hold once all is quiet.
    fn check_end(&mut self) -> Result<(), Violation> {
        let Some(process) = &mut self.process else {
            return Err(Violation::new("liveness", "the process does not run".to_owned()));
        };
        invariant::acked_writes::check(process.member.store_mut(), &self.oracle)?;
        invariant::lease_eventually::check(&self.oracle)?;
        for watcher in &mut self.watchers {
            if watcher.is_created {
                invariant::watch_complete::check_end(watcher, &self.oracle.model)?;
            }
        }
        Ok(())
    }

    /// The usual time of a sync, or a long one while syncs are slow.
    pub(crate) fn sync_time(&mut self) -> Duration {
        if self.syncs_slow {
            return Duration::from_millis(self.rng.between(100, 3000));
        }
        let most = u64::try_from(self.swarm.sync_max.as_micros()).expect("a short time");
        Duration::from_micros(self.rng.between(50, most))
    }

    /// Takes the power away.
    pub(crate) fn lose_power(&mut self) {
        fault::power_loss(&self.disk, &mut self.rng);
    }
}
