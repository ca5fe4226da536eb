//! Effects of the member, and the threads that work on them.

use crate::invariant;
use crate::process::{FlushJob, HelperJob, LogJob, Process};
use crate::report::Violation;
use crate::world::{Action, World};
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
    pub(crate) fn step(&mut self, event: Event) -> Result<(), Violation> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let mut effects = Vec::new();
        process.member.step(self.now, event, &mut effects);
        self.schedule_turn();
        self.execute(effects)
    }

    pub(crate) fn schedule_turn(&mut self) {
        let Some(process) = &mut self.process else { return };
        if !std::mem::replace(&mut process.has_turn, true) {
            let after = Duration::from_micros(self.rng.between(0, 300));
            self.schedule(after, Action::Turn(self.life));
        }
    }

    pub(crate) fn turn(&mut self) -> Result<(), Violation> {
        let Some(process) = &mut self.process else { return Ok(()) };
        process.has_turn = false;
        let mut effects = Vec::new();
        process.member.turn(self.now, &mut effects);
        self.schedule_tick();
        self.execute(effects)
    }

    /// Ticks when the member wants, and turns again at once if work was left.
    fn schedule_tick(&mut self) {
        let Some(process) = &mut self.process else { return };
        let deadline = process.member.next_deadline(self.now);
        if deadline <= self.now {
            self.schedule_turn();
        } else if process.tick_at.is_none_or(|at| at <= self.now || deadline < at) {
            process.tick_at = Some(deadline);
            let after = deadline.since(self.now);
            self.schedule(after, Action::Tick(self.life));
        }
    }

    pub(crate) fn tick(&mut self) -> Result<(), Violation> {
        if let Some(process) = &mut self.process {
            process.tick_at = None;
        }
        self.step(Event::Tick)?;
        self.schedule_tick();
        Ok(())
    }

    fn execute(&mut self, effects: Vec<Effect>) -> Result<(), Violation> {
        let life = self.life;
        // Answers to writes leave with the note of what was applied, which comes after them.
        let mut answers = Vec::new();
        for effect in effects {
            if self.life != life {
                return Ok(());
            }
            match effect {
                Effect::Reply { id, header, result, reader } => {
                    answers.push(Answer { id, header, result, reader });
                    continue;
                }
                Effect::Note(Note::Applied(index)) => {
                    self.applied(index.0)?;
                    for answer in answers.drain(..) {
                        self.answer(answer)?;
                    }
                }
                effect => self.execute_one(effect)?,
            }
        }
        for answer in answers {
            self.answer(answer)?;
        }
        Ok(())
    }

    /// Entries up to `index` were applied: the reference follows.
    fn applied(&mut self, index: u64) -> Result<(), Violation> {
        let synced = self.process.as_ref().map_or(0, |process| process.wal.last().index.0);
        invariant::durable_at_ack::check(index, synced)?;
        for (id, ttl) in self.oracle.advance(index)? {
            self.counts.expired_leases += 1;
            if let Some(renewed) = self.oracle.renewed.remove(&id) {
                invariant::lease_not_early::check(self.now, id, renewed, ttl)?;
            }
        }
        self.trace.note(self.now, "applied", index);
        if self.rng.chance(1) && !self.is_full {
            self.counts.images += 1;
            invariant::durable_at_ack::check_image(&self.disk, index, self.log_settings())?;
        }
        Ok(())
    }

    fn execute_one(&mut self, effect: Effect) -> Result<(), Violation> {
        let life = self.life;
        let helper_time = Duration::from_micros(self.rng.between(20, 5000));
        match effect {
            Effect::Persist { ticket, batch } => {
                for frame in &batch.frames {
                    if let wal::Frame::Entry(entry) = frame {
                        self.oracle.append(entry.index.0, entry.term, entry.data.clone());
                    }
                }
                self.oracle.batch_ends();
                self.push_log_job(LogJob::Persist { ticket, batch });
            }
            Effect::Trim(upto) => self.push_log_job(LogJob::Trim(upto)),
            Effect::Flush { ticket, job } => self.push_flush_job(FlushJob::Flush { ticket, job }),
            Effect::Rewrite { ticket, now } => {
                self.push_flush_job(FlushJob::Rewrite { ticket, now });
            }
            Effect::Fetch { ticket, reader, revisions } => {
                self.counts.cold_reads += 1;
                let job = HelperJob::Fetch { ticket, reader, revisions };
                self.schedule(helper_time, Action::Helper(life, job));
            }
            Effect::History { ticket, reader, from, to, bytes_max } => {
                let job = HelperJob::History { ticket, reader, from, to, bytes_max };
                self.schedule(helper_time, Action::Helper(life, job));
            }
            Effect::Hash { ticket, reader, revision, compacted, .. } => {
                let job = HelperJob::Hash { ticket, reader, revision, compacted };
                self.schedule(helper_time, Action::Helper(life, job));
            }
            Effect::WatchReady(stream) => self.watch_ready(stream),
            Effect::Note(Note::Ready) => {
                self.trace.note(self.now, "ready", life);
                if let Some(process) = &mut self.process {
                    process.is_ready = true;
                }
            }
            Effect::Stopped => self.stopped(),
            Effect::Fatal(error) => {
                return Err(Violation::new("start", format!("the member gave up: {error}")));
            }
            Effect::Reply { .. } | Effect::Note(_) | Effect::Send { .. } => {}
        }
        Ok(())
    }

    fn push_log_job(&mut self, job: LogJob) {
        let Some(process) = &mut self.process else { return };
        process.log_jobs.push_back(job);
        if process.log_jobs.len() == 1 {
            let after = self.sync_time();
            self.schedule(after, Action::Log(self.life));
        }
    }

    fn push_flush_job(&mut self, job: FlushJob) {
        let Some(process) = &mut self.process else { return };
        process.flush_jobs.push_back(job);
        if process.flush_jobs.len() == 1 {
            let after = self.sync_time();
            self.schedule(after, Action::Flush(self.life));
        }
    }

    /// The log thread does its first job. A full disk leaves the job where it is.
    pub(crate) fn run_log_job(&mut self) -> Result<(), Violation> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let Some(job) = process.log_jobs.front() else { return Ok(()) };
        let result = match job {
            LogJob::Persist { batch, .. } => {
                process.appends += 1;
                let space = if self.is_full { Use::Reserve } else { Use::Normal };
                process.wal.append_with(batch, space)
            }
            LogJob::Trim(upto) => process.wal.trim(*upto),
        };
        match result {
            Ok(()) => {}
            Err(wal::Error::Vfs(_)) => {
                self.disk_failed();
                return Ok(());
            }
            Err(wal::Error::NoSpace(_)) => {
                self.schedule(Duration::from_millis(20), Action::Log(self.life));
                return self.disk_is_full();
            }
            Err(error) => return Err(Violation::new("start", format!("the log: {error}"))),
        }
        let (job, appends) = (process.log_jobs.pop_front(), process.appends);
        if !process.log_jobs.is_empty() {
            let after = self.sync_time();
            self.schedule(after, Action::Log(self.life));
        } else {
            self.schedule(Duration::from_secs(1), Action::Idle(self.life, appends));
        }
        match job {
            Some(LogJob::Persist { ticket, .. }) => self.step(Event::Persisted(ticket)),
            _ => Ok(()),
        }
    }

    /// An idle log is sealed, so that its last batch is known to be whole.
    pub(crate) fn log_is_idle(&mut self, appends: u64) -> Result<(), Violation> {
        let Some(process) = &mut self.process else { return Ok(()) };
        if process.appends != appends || !process.log_jobs.is_empty() {
            return Ok(());
        }
        match process.wal.seal() {
            Err(wal::Error::Vfs(_)) => self.disk_failed(),
            Err(wal::Error::NoSpace(_)) | Ok(()) => {}
            Err(error) => return Err(Violation::new("start", format!("the log: {error}"))),
        }
        Ok(())
    }

    /// The flush thread does its first job. A full disk leaves the job where it is.
    pub(crate) fn run_flush_job(&mut self) -> Result<(), Violation> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let Some(job) = process.flush_jobs.front() else { return Ok(()) };
        let event = match flush(&mut process.backend, job) {
            Ok(event) => event,
            Err(backend::Error::Vfs(_)) => {
                self.disk_failed();
                return Ok(());
            }
            Err(backend::Error::NoSpace(_)) => {
                self.schedule(Duration::from_millis(20), Action::Flush(self.life));
                return self.disk_is_full();
            }
            Err(error) => return Err(Violation::new("start", format!("the backend: {error}"))),
        };
        process.flush_jobs.pop_front();
        let is_more = !process.flush_jobs.is_empty();
        if matches!(event, Event::Rewritten { done: false, .. }) {
            self.counts.rewrites += 1;
        }
        if is_more {
            let after = self.sync_time();
            self.schedule(after, Action::Flush(self.life));
        }
        self.step(event)
    }

    pub(crate) fn run_helper(&mut self, job: HelperJob) -> Result<(), Violation> {
        match help(job) {
            Ok(event) => self.step(event),
            // Reads of sound files fail only with the disk.
            Err(backend::Error::Vfs(_)) => {
                self.disk_failed();
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
