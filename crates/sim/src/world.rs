//! The world of one run: a queue of actions by time, and the loop that pops them.

use crate::client::Client;
use crate::fault::{self, Kind};
use crate::host::Host;
use crate::invariant;
use crate::mutant::Mutant;
use crate::network::Network;
use crate::oracle::Oracle;
use crate::process::{HelperJob, Process};
use crate::report::{Counts, Report, Violation};
use crate::rng::Rng;
use crate::swarm::Swarm;
use crate::trace::Trace;
use crate::watcher::Watcher;
use bytes::Bytes;
use member::Event;
use member::request::{Request, RequestId, Response};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use types::{KeyRange, OpError, Time};

/// How to run a seed.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// The planted bug.
    pub mutant: Option<Mutant>,
    /// Keep the last lines of the trace for the report of a violation.
    pub is_verbose: bool,
}

/// What happens at some time. Actions of an earlier life of a process are void; the first number
/// is that of the host, the second that of the life.
#[derive(Debug)]
pub(crate) enum Action {
    Start(usize),
    Turn(usize, u64),
    Tick(usize, u64),
    /// The log thread finishes its first job.
    Log(usize, u64),
    /// The log was idle since this append.
    Idle(usize, u64, u64),
    /// The flush thread finishes its first job.
    Flush(usize, u64),
    Helper(usize, u64, HelperJob),
    /// A message arrives.
    Deliver {
        to: usize,
        from: usize,
        message: Bytes,
    },
    /// The sender learns that a message to this host was lost.
    Lost(usize, u64, usize),
    Client(usize),
    /// A client asks a host that stood still.
    AskAt(usize, usize),
    OpenWatch(usize),
    Drain(usize, u64, usize),
    Fault,
    /// This fault, now.
    Strike(usize, Kind),
    SpaceBack(usize),
    SyncsFast(usize),
    /// The network is whole again.
    Heal,
    /// A member is asked for the hash of its keyspace, to end with.
    FinalHash(usize),
}

/// Where a run stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Clients ask, faults strike.
    Busy,
    /// No fault strikes any more; clients go on until enough is written.
    Healing,
    /// Clients finish what they asked, members catch up.
    Settling,
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
    pub(crate) hosts: Vec<Host>,
    pub(crate) network: Network,
    pub(crate) oracle: Oracle,
    pub(crate) clients: Vec<Client>,
    pub(crate) watchers: Vec<Watcher>,
    pub(crate) requests: u64,
    pub(crate) streams: u64,
    pub(crate) phase: Phase,
    /// Acknowledged writes that show that the cluster has healed.
    healed_at: u64,
    healing_since: Time,
    rest_until: Time,
    /// Requests for the hash at the end that are not answered.
    pub(crate) final_hashes: BTreeSet<RequestId>,
    pub(crate) counts: Counts,
    pub(crate) trace: Trace,
}

/// Longest run in simulated time: one that is not done by then is stuck.
const RUN_MAX: Duration = Duration::from_secs(1200);
/// Longest time from the healing until members have caught up.
const HEAL_MAX: Duration = Duration::from_secs(60);
/// Writes after the healing.
const HEALED_WRITES: u64 = 10;
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
        // What is wrong with a disk shows soonest where faults are densest.
        let looks_at_disk = options.mutant.is_some_and(Mutant::is_of_disk);
        let swarm = Swarm::draw(&mut rng, looks_at_disk);
        let hosts: Vec<Host> =
            (0..swarm.members).map(|at| Host::new(at, swarm.device_reads)).collect();
        let client = |_| {
            let home = rng.chance(60).then(|| rng.below(swarm.members));
            Client { home, ..Client::default() }
        };
        let clients = (0..swarm.clients).map(client).collect();
        let mut world = World {
            seed,
            options,
            rng,
            swarm,
            now: Time(0),
            queue: BTreeMap::new(),
            sequence: 0,
            hosts,
            network: Network::default(),
            oracle: Oracle::default(),
            clients,
            watchers: Vec::new(),
            requests: 0,
            streams: 0,
            phase: Phase::Busy,
            healed_at: 0,
            healing_since: Time(0),
            rest_until: Time(0),
            final_hashes: BTreeSet::new(),
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
            host: 0,
            next: 0,
            at: 0,
            is_created: false,
            is_draining: false,
        }
    }

    fn run(&mut self) -> Result<(), Violation> {
        for at in 0..self.hosts.len() {
            self.schedule(Duration::ZERO, Action::Start(at));
        }
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
            self.check_liveness()?;
            self.act(action)?;
            self.move_on();
        }
        self.check_end()
    }

    /// The process that an action needs to go on, with its life, if it needs one.
    fn actor(action: &Action) -> Option<(usize, Option<u64>)> {
        match *action {
            Action::Turn(at, life)
            | Action::Tick(at, life)
            | Action::Log(at, life)
            | Action::Idle(at, life, _)
            | Action::Flush(at, life)
            | Action::Helper(at, life, _)
            | Action::Drain(at, life, _)
            | Action::Lost(at, life, _) => Some((at, Some(life))),
            Action::Deliver { to, .. } => Some((to, None)),
            Action::AskAt(_, at) | Action::FinalHash(at) => Some((at, None)),
            _ => None,
        }
    }

    fn act(&mut self, action: Action) -> Result<(), Violation> {
        if let Some((at, life)) = World::actor(&action) {
            if life.is_some_and(|life| life != self.hosts[at].life) {
                return Ok(());
            }
            let wakes = self.hosts[at].paused_until;
            if self.now < wakes {
                // A process that stands still finds all of it when it goes on, in this order.
                self.schedule(wakes.since(self.now), action);
                return Ok(());
            }
        }
        match action {
            Action::Start(at) => self.start(at),
            Action::Turn(at, _) => self.turn(at),
            Action::Tick(at, _) => self.tick(at),
            Action::Log(at, _) => self.run_log_job(at),
            Action::Idle(at, _, appends) => self.log_is_idle(at, appends),
            Action::Flush(at, _) => self.run_flush_job(at),
            Action::Helper(at, _, job) => self.run_helper(at, job),
            Action::Deliver { to, from, message } => self.deliver(to, from, message),
            Action::Lost(at, _, to) => {
                let to = self.hosts[to].id;
                self.step(at, Event::Unreachable(to))
            }
            Action::Drain(.., watcher) => self.drain(watcher),
            Action::Client(client) => self.ask(client),
            Action::AskAt(client, at) => self.ask_at(client, at),
            Action::OpenWatch(watcher) => self.open_watch(watcher),
            Action::Fault => self.any_fault(),
            Action::Strike(at, kind) => self.strike(at, kind),
            Action::SpaceBack(at) => self.space_back(at),
            Action::SyncsFast(at) => {
                self.hosts[at].syncs_slow = false;
                Ok(())
            }
            Action::Heal => {
                self.network.heal();
                Ok(())
            }
            Action::FinalHash(at) => self.ask_final_hash(at),
        }
    }

    fn any_fault(&mut self) -> Result<(), Violation> {
        if self.phase != Phase::Busy {
            return Ok(());
        }
        let kind = self.rng.pick(&self.swarm.faults.clone());
        let mut at = self.rng.below(self.hosts.len());
        // The leader is where it hurts.
        if self.rng.chance(30)
            && let Some(leader) = self.hosts.iter().position(Host::leads)
        {
            at = leader;
        }
        self.schedule_fault();
        self.strike(at, kind)
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
                    let at = self.rng.below(self.hosts.len());
                    self.schedule(Duration::from_millis(1), Action::Strike(at, kind));
                    return;
                }
                self.heal();
            }
            Phase::Healing if self.healed_at <= self.counts.acked_writes => {
                self.phase = Phase::Settling;
            }
            Phase::Settling if self.is_settled() => {
                self.phase = Phase::Resting;
                self.rest_until = self.now + LEASE_REST + self.swarm.election * 2;
                let before_end = LEASE_REST + self.swarm.election;
                for at in 0..self.hosts.len() {
                    self.schedule(before_end, Action::FinalHash(at));
                }
            }
            _ => {}
        }
    }

    /// No fault strikes from here on: all links, disks and processes are as they should be.
    fn heal(&mut self) {
        self.phase = Phase::Healing;
        self.healed_at = self.counts.acked_writes + HEALED_WRITES;
        self.healing_since = self.now;
        self.network.heal();
        self.swarm.weather.loss_percent = 0;
        for at in 0..self.hosts.len() {
            let host = &mut self.hosts[at];
            host.syncs_slow = false;
            let is_calm = host.is_calm();
            self.schedule(Duration::ZERO, Action::SpaceBack(at));
            if !is_calm {
                // A quiet disk would never meet the fault that was laid.
                self.schedule(Duration::from_millis(50), Action::Strike(at, Kind::Kill));
            }
        }
    }

    /// True once clients have their answers and every member has caught up.
    fn is_settled(&self) -> bool {
        let index = self.oracle.index();
        let has_settled = |host: &Host| {
            let last = |process: &Process| process.member.node_status().last.0;
            let is_last = host.process.as_ref().is_some_and(|process| {
                usize::try_from(last(process)).is_ok_and(|last| last == index)
            });
            let is_awake = host.paused_until <= self.now;
            is_awake && host.serves() && host.is_calm() && host.view.index == index && is_last
        };
        let is_idle = self.clients.iter().all(|client| client.outstanding.is_none());
        is_idle && self.hosts.iter().all(has_settled) && self.hosts.iter().any(Host::leads)
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Resting && self.rest_until <= self.now && self.final_hashes.is_empty()
    }

    /// A healed cluster is back soon (INV-18).
    fn check_liveness(&self) -> Result<(), Violation> {
        let heals = matches!(self.phase, Phase::Healing | Phase::Settling);
        let is_late = heals && HEAL_MAX < self.now.since(self.healing_since);
        if !is_late && self.now.since(Time(0)) <= RUN_MAX {
            return Ok(());
        }
        let hosts: Vec<String> = self.hosts.iter().map(Host::describe).collect();
        let text = format!("{:?}, {:?}, {hosts:?}", self.phase, self.counts);
        Err(Violation::new("liveness", text))
    }

    /// Asks a member for the hash of its keyspace.
    fn ask_final_hash(&mut self, at: usize) -> Result<(), Violation> {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.final_hashes.insert(id);
        self.step(at, Event::Request { id, request: Request::HashKv(0), deadline: None })
    }

    pub(crate) fn check_final_hash(
        &mut self,
        at: usize,
        answer: &Result<Response, OpError>,
    ) -> Result<(), Violation> {
        match answer {
            Ok(Response::HashKv { hash, compact_revision, hash_revision }) => {
                let model = &self.hosts[at].view.state.model;
                invariant::hash_equal::check(model, *hash, *compact_revision, *hash_revision)
            }
            other => Err(Violation::new("hash_equal", format!("{other:?} for the last hash"))),
        }
    }

    /// What must hold once all is quiet.
    fn check_end(&mut self) -> Result<(), Violation> {
        let index = self.oracle.index();
        for host in &mut self.hosts {
            let Some(process) = &mut host.process else {
                return Err(Violation::new("liveness", "a process does not run".to_owned()));
            };
            if host.view.index != index {
                let text = format!("{} has applied {} of {index}", host.id, host.view.index);
                return Err(Violation::new("liveness", text));
            }
            invariant::acked_writes::check(process.member.store_mut(), &host.view)?;
            self.oracle.chain(index, process.member.store().chain())?;
        }
        invariant::lease_eventually::check(&self.oracle)?;
        for watcher in &mut self.watchers {
            if watcher.is_created {
                invariant::watch_complete::check_end(watcher, &self.oracle.state.model)?;
            }
        }
        Ok(())
    }

    /// Notes what happened on a host.
    pub(crate) fn note(&mut self, at: usize, kind: &str, number: u64) {
        let at = u64::try_from(at).expect("a few hosts");
        self.trace.note(self.now, kind, number << 3 | at);
    }

    /// The usual time of a sync, or a long one while syncs are slow.
    pub(crate) fn sync_time(&mut self, at: usize) -> Duration {
        if self.hosts[at].syncs_slow {
            return Duration::from_millis(self.rng.between(100, 3000));
        }
        let most = u64::try_from(self.swarm.sync_max.as_micros()).expect("a short time");
        Duration::from_micros(self.rng.between(50, most))
    }

    /// Takes the power away.
    pub(crate) fn lose_power(&mut self, at: usize) {
        fault::power_loss(&self.hosts[at].disk, &mut self.rng);
    }
}
