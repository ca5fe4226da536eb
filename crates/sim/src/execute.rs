//! Effects of the member, and the threads that work on them.

use crate::invariant;
use crate::process::{FlushJob, HelperJob, LogJob, Process};
use crate::report::Violation;
use crate::world::{Action, World};
use bytes::Bytes;
use member::effect::Note;
use member::request::{Header, RequestId, Response};
use member::{Effect, Event};
use std::time::Duration;
use types::OpError;
use wal::Use;

/// An answer on its way out.
pub(crate) struct Answer {
    pub(crate) id: RequestId,
    pub(crate) header: Header,
    pub(crate) result: Result<Response, OpError>,
    pub(crate) reader: Option<backend::Reader>,
}

impl World {
    pub(crate) fn step(&mut self, at: usize, event: Event) -> Result<(), Violation> {
        let Some(process) = &mut self.hosts[at].process else { return Ok(()) };
        let mut effects = Vec::new();
        process.member.step(self.now, event, &mut effects);
        self.schedule_turn(at);
        self.execute(at, effects)
    }

    pub(crate) fn schedule_turn(&mut self, at: usize) {
        let Some(process) = &mut self.hosts[at].process else { return };
        if !std::mem::replace(&mut process.has_turn, true) {
            let after = Duration::from_micros(self.rng.between(0, 300));
            self.schedule(after, Action::Turn(at, self.hosts[at].life));
        }
    }

    pub(crate) fn turn(&mut self, at: usize) -> Result<(), Violation> {
        let Some(process) = &mut self.hosts[at].process else { return Ok(()) };
        process.has_turn = false;
        let mut effects = Vec::new();
        process.member.turn(self.now, &mut effects);
        self.schedule_tick(at);
        self.execute(at, effects)
    }

    /// Ticks when the member wants, and turns again at once if work was left.
    fn schedule_tick(&mut self, at: usize) {
        let Some(process) = &mut self.hosts[at].process else { return };
        let deadline = process.member.next_deadline(self.now);
        if deadline <= self.now {
            self.schedule_turn(at);
        } else if process.tick_at.is_none_or(|at| at <= self.now || deadline < at) {
            process.tick_at = Some(deadline);
            let after = deadline.since(self.now);
            self.schedule(after, Action::Tick(at, self.hosts[at].life));
        }
    }

    pub(crate) fn tick(&mut self, at: usize) -> Result<(), Violation> {
        if let Some(process) = &mut self.hosts[at].process {
            process.tick_at = None;
        }
        self.step(at, Event::Tick)?;
        self.schedule_tick(at);
        Ok(())
    }

    fn execute(&mut self, at: usize, effects: Vec<Effect>) -> Result<(), Violation> {
        let life = self.hosts[at].life;
        // Answers to writes leave with the note of what was applied, which comes after them.
        let mut answers = Vec::new();
        for effect in effects {
            if self.hosts[at].life != life {
                return Ok(());
            }
            match effect {
                Effect::Reply { id, header, result, reader } => {
                    answers.push(Answer { id, header, result, reader });
                    continue;
                }
                Effect::Note(Note::Applied(index)) => {
                    self.applied(at, index.0)?;
                    for answer in answers.drain(..) {
                        self.answer(at, answer)?;
                    }
                }
                effect => self.execute_one(at, effect)?,
            }
        }
        for answer in answers {
            self.answer(at, answer)?;
        }
        Ok(())
    }

    /// Entries up to `index` were applied: the reference follows.
    fn applied(&mut self, at: usize, index: u64) -> Result<(), Violation> {
        let upto = usize::try_from(index).expect("a small log");
        for index in self.hosts[at].view.index + 1..=upto {
            let Some((term, data)) = self.hosts[at].record.entry(index).cloned() else {
                let text = format!("entry {index} is applied, and not durable here");
                return Err(Violation::new("durable_at_ack", text));
            };
            let is_new = self.oracle.index() < index;
            if is_new {
                invariant::durable_at_ack::check_majority(&self.hosts, index, term)?;
            }
            if let Some((id, ttl)) = self.oracle.apply(index, term, &data)? {
                self.counts.expired_leases += 1;
                if let Some(renewed) = self.oracle.renewed.remove(&id) {
                    invariant::lease_not_early::check(self.now, id, renewed, ttl)?;
                }
            }
        }
        let host = &mut self.hosts[at];
        host.view.advance(&self.oracle, upto);
        if let Some(process) = &host.process {
            let chain = process.member.store().chain();
            if process.member.store().applied().0 == index && !process.member.store().is_suspended()
            {
                self.oracle.chain(upto, chain)?;
            }
        }
        self.note(at, "applied", index);
        if self.rng.chance(1) && !self.hosts[at].is_full {
            self.counts.images += 1;
            let settings = self.log_settings(at);
            invariant::durable_at_ack::check_image(&self.hosts[at].disk, index, settings)?;
        }
        Ok(())
    }

    /// A message to another member goes its way.
    fn send(&mut self, at: usize, to: types::MemberId, message: Bytes) -> Result<(), Violation> {
        invariant::persist_before_send::check(&self.hosts[at], &message)?;
        let Some(to) = self.hosts.iter().position(|host| host.id == to) else { return Ok(()) };
        let weather = self.swarm.weather;
        let ways = self.network.ways(self.now, (at, to), &weather, &mut self.rng);
        self.counts.messages += 1;
        if ways.is_empty() && self.rng.chance(30) {
            let after = Duration::from_millis(self.rng.between(1, 50));
            self.schedule(after, Action::Lost(at, self.hosts[at].life, to));
        }
        for way in ways {
            self.schedule(way, Action::Deliver { to, from: at, message: message.clone() });
        }
        Ok(())
    }

    /// A message arrives. It may be of an earlier life of its sender.
    pub(crate) fn deliver(
        &mut self,
        to: usize,
        from: usize,
        message: Bytes,
    ) -> Result<(), Violation> {
        let from = self.hosts[from].id;
        self.step(to, Event::Peer { from, message })
    }

    fn execute_one(&mut self, at: usize, effect: Effect) -> Result<(), Violation> {
        let life = self.hosts[at].life;
        let helper_time = Duration::from_micros(self.rng.between(20, 5000));
        match effect {
            Effect::Persist { ticket, batch } => {
                self.hosts[at].record.writes(&batch);
                self.push_log_job(at, LogJob::Persist { ticket, batch });
            }
            Effect::Trim(upto) => self.push_log_job(at, LogJob::Trim(upto)),
            Effect::Flush { ticket, job } => {
                self.push_flush_job(at, FlushJob::Flush { ticket, job })
            }
            Effect::Rewrite { ticket, now } => {
                self.push_flush_job(at, FlushJob::Rewrite { ticket, now });
            }
            Effect::Fetch { ticket, reader, revisions } => {
                self.counts.cold_reads += 1;
                let job = HelperJob::Fetch { ticket, reader, revisions };
                self.schedule(helper_time, Action::Helper(at, life, job));
            }
            Effect::FetchLog { ticket, reader, from, to, bytes_max } => {
                self.counts.log_fetches += 1;
                let job = HelperJob::FetchLog { ticket, reader, from, to, bytes_max };
                self.schedule(helper_time, Action::Helper(at, life, job));
            }
            Effect::History { ticket, reader, from, to, bytes_max } => {
                let job = HelperJob::History { ticket, reader, from, to, bytes_max };
                self.schedule(helper_time, Action::Helper(at, life, job));
            }
            Effect::Hash { ticket, reader, revision, compacted, .. } => {
                let job = HelperJob::Hash { ticket, reader, revision, compacted };
                self.schedule(helper_time, Action::Helper(at, life, job));
            }
            Effect::WatchReady(stream) => self.watch_ready(at, stream),
            Effect::Note(Note::Ready) => {
                self.note(at, "ready", life);
                if let Some(process) = &mut self.hosts[at].process {
                    process.is_ready = true;
                }
            }
            Effect::Stopped => self.stopped(at),
            Effect::Fatal(error) => {
                return Err(Violation::new("start", format!("the member gave up: {error}")));
            }
            Effect::Send { to, message, .. } => return self.send(at, to, message),
            Effect::Note(Note::BecameLeader(term)) => {
                self.note(at, "leads", term.0);
                self.counts.elections += 1;
                self.oracle.leads(at, term.0)?;
                return invariant::leader_completeness::check(&self.hosts[at], &self.oracle, term);
            }
            Effect::Note(Note::PeerRefused { from, why }) => {
                let text = format!("a message of {from} was passed over: {why}");
                return Err(Violation::new("peer_refused", text));
            }
            Effect::Reply { .. } | Effect::Note(_) => {}
        }
        Ok(())
    }

    fn push_log_job(&mut self, at: usize, job: LogJob) {
        let Some(process) = &mut self.hosts[at].process else { return };
        process.log_jobs.push_back(job);
        if process.log_jobs.len() == 1 {
            let after = self.sync_time(at);
            self.schedule(after, Action::Log(at, self.hosts[at].life));
        }
    }

    fn push_flush_job(&mut self, at: usize, job: FlushJob) {
        let Some(process) = &mut self.hosts[at].process else { return };
        process.flush_jobs.push_back(job);
        if process.flush_jobs.len() == 1 {
            let after = self.sync_time(at);
            self.schedule(after, Action::Flush(at, self.hosts[at].life));
        }
    }

    /// The log thread does its first job. A full disk leaves the job where it is.
    pub(crate) fn run_log_job(&mut self, at: usize) -> Result<(), Violation> {
        let is_full = self.hosts[at].is_full;
        let Some(process) = &mut self.hosts[at].process else { return Ok(()) };
        let Some(job) = process.log_jobs.front() else { return Ok(()) };
        let result = match job {
            LogJob::Persist { batch, .. } => {
                process.appends += 1;
                let space = if is_full { Use::Reserve } else { Use::Normal };
                process.wal.append_with(batch, space)
            }
            LogJob::Trim(upto) => process.wal.trim(*upto),
        };
        match result {
            Ok(()) => {}
            Err(wal::Error::Vfs(_)) => {
                self.disk_failed(at);
                return Ok(());
            }
            Err(wal::Error::NoSpace(_)) => {
                self.schedule(Duration::from_millis(20), Action::Log(at, self.hosts[at].life));
                return self.disk_is_full(at);
            }
            Err(error) => return Err(Violation::new("start", format!("the log: {error}"))),
        }
        let (job, appends) = (process.log_jobs.pop_front(), process.appends);
        if !process.log_jobs.is_empty() {
            let after = self.sync_time(at);
            self.schedule(after, Action::Log(at, self.hosts[at].life));
        } else {
            self.schedule(Duration::from_secs(1), Action::Idle(at, self.hosts[at].life, appends));
        }
        match job {
            Some(LogJob::Persist { ticket, .. }) => {
                self.hosts[at].record.synced();
                self.step(at, Event::Persisted(ticket))
            }
            _ => Ok(()),
        }
    }

    /// An idle log is sealed, so that its last batch is known to be whole.
    pub(crate) fn log_is_idle(&mut self, at: usize, appends: u64) -> Result<(), Violation> {
        let Some(process) = &mut self.hosts[at].process else { return Ok(()) };
        if process.appends != appends || !process.log_jobs.is_empty() {
            return Ok(());
        }
        match process.wal.seal() {
            Err(wal::Error::Vfs(_)) => self.disk_failed(at),
            Err(wal::Error::NoSpace(_)) | Ok(()) => {}
            Err(error) => return Err(Violation::new("start", format!("the log: {error}"))),
        }
        Ok(())
    }

    /// The flush thread does its first job. A full disk leaves the job where it is.
    pub(crate) fn run_flush_job(&mut self, at: usize) -> Result<(), Violation> {
        let Some(process) = &mut self.hosts[at].process else { return Ok(()) };
        let Some(job) = process.flush_jobs.front() else { return Ok(()) };
        let event = match flush(&mut process.backend, job) {
            Ok(event) => event,
            Err(backend::Error::Vfs(_)) => {
                self.disk_failed(at);
                return Ok(());
            }
            Err(backend::Error::NoSpace(_)) => {
                self.schedule(Duration::from_millis(20), Action::Flush(at, self.hosts[at].life));
                return self.disk_is_full(at);
            }
            Err(error) => return Err(Violation::new("start", format!("the backend: {error}"))),
        };
        process.flush_jobs.pop_front();
        let is_more = !process.flush_jobs.is_empty();
        if matches!(event, Event::Rewritten { done: false, .. }) {
            self.counts.rewrites += 1;
        }
        if is_more {
            let after = self.sync_time(at);
            self.schedule(after, Action::Flush(at, self.hosts[at].life));
        }
        self.step(at, event)
    }

    pub(crate) fn run_helper(&mut self, at: usize, job: HelperJob) -> Result<(), Violation> {
        match help(job) {
            Ok(event) => self.step(at, event),
            // Reads of sound files fail only with the disk.
            Err(backend::Error::Vfs(_)) => {
                self.disk_failed(at);
                Ok(())
            }
            Err(error) => Err(Violation::new("start", format!("the backend: {error}"))),
        }
    }
}

fn flush(backend: &mut backend::Backend, job: &FlushJob) -> backend::Result<Event> {
    match job {
        FlushJob::Flush { ticket, job } => {
            let reader = backend.flush(job)?;
            Ok(Event::Flushed { ticket: *ticket, reader })
        }
        FlushJob::Rewrite { ticket, now } => {
            let pace = if *now { backend::Pace::Now } else { backend::Pace::Paced };
            let done = backend.rewrite_step(pace)?.is_none();
            Ok(Event::Rewritten { ticket: *ticket, reader: backend.reader(), done })
        }
    }
}

fn help(job: HelperJob) -> backend::Result<Event> {
    Ok(match job {
        HelperJob::Fetch { ticket, reader, revisions } => {
            let records = reader.get_many(&revisions)?.into_iter().flatten().collect();
            Event::Fetched { ticket, records }
        }
        HelperJob::FetchLog { ticket, reader, from, to, bytes_max } => {
            // What was trimmed meanwhile is no damage.
            let entries = reader.entries(from, to, bytes_max).unwrap_or_default();
            Event::LogFetched { ticket, entries }
        }
        HelperJob::History { ticket, reader, from, to, bytes_max } => {
            let history = reader.scan(from, to, bytes_max)?;
            let upto = history.next.map_or(to, |next| next - 1);
            Event::History { ticket, records: history.records, upto }
        }
        HelperJob::Hash { ticket, reader, revision, compacted } => {
            Event::Hashed { ticket, hash: reader.hash_kv(revision, compacted)? }
        }
    })
}

impl Process {
    /// True once clients are served.
    pub(crate) fn serves(&self) -> bool {
        self.is_ready
    }
}
