//! The flush thread: owns the backend, writes its jobs, and rewrites segments at a pace.

use super::fatal;
use super::mailbox::{Mail, Mailbox};
use crate::metrics::Metrics;
use backend::{Backend, FlushJob, Pace, Reserve};
use member::event::DiskSpace;
use member::{Effect, Event, Ticket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A paced rewrite takes one part of the time in this many.
const PACE: u32 = 12;
/// A rewrite never rests longer than this, so that load cannot starve it.
const REST_MAX: Duration = Duration::from_secs(2);
/// How often a full disk is tried again.
const FULL_RETRY: Duration = Duration::from_millis(200);
/// What stays in the reserve for hard state, Boot and compaction.
const RESERVE_KEPT_BYTES: u64 = 4 * 1024 * 1024;
/// Room that must be there beyond the reserve before it is filled again.
const REFILL_MARGIN_BYTES: u64 = 16 * 1024 * 1024;
const IDLE: Duration = Duration::from_secs(1);

struct FlushThread {
    backend: Backend,
    reserve: Reserve,
    mailbox: Arc<Mailbox>,
    metrics: Metrics,
    /// True while allocating fails.
    full: bool,
    /// A completion that is held back for the pace.
    resting: Option<(Instant, Event)>,
}

/// Runs until the loop is gone.
pub(super) fn run(
    backend: Backend,
    reserve: Reserve,
    work: &Receiver<Effect>,
    mailbox: Arc<Mailbox>,
    metrics: Metrics,
) {
    let mut thread = FlushThread { backend, reserve, mailbox, metrics, full: false, resting: None };
    loop {
        let wait = match &thread.resting {
            Some((until, _)) => until.saturating_duration_since(Instant::now()).min(IDLE),
            None => IDLE,
        };
        match work.recv_timeout(wait) {
            Ok(Effect::Flush { ticket, job }) => thread.flush(ticket, &job),
            Ok(Effect::Rewrite { ticket, now }) => thread.rewrite(ticket, now),
            Ok(other) => {
                tracing::error!(effect = ?other, "this is no work for the flush thread");
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        thread.wake_up();
        if thread.full {
            thread.refill();
        }
    }
}

impl FlushThread {
    fn flush(&mut self, ticket: Ticket, job: &FlushJob) {
        let reader = loop {
            let began = Instant::now();
            match self.backend.flush(job) {
                Ok(reader) => {
                    let seconds = began.elapsed().as_secs_f64();
                    self.metrics.backend_commit.observe(seconds);
                    self.metrics.commit_write.observe(seconds);
                    break reader;
                }
                Err(backend::Error::NoSpace(error)) => {
                    self.set_full(&error);
                    self.release();
                    std::thread::sleep(FULL_RETRY);
                }
                Err(error) => fatal::backend(&error),
            }
        };
        self.post(Event::Flushed { ticket, reader });
    }

    fn rewrite(&mut self, ticket: Ticket, now: bool) {
        let began = Instant::now();
        let pace = if now { Pace::Now } else { Pace::Paced };
        let (reader, done) = match self.backend.rewrite_step(pace) {
            Ok(Some(step)) => (step.reader, false),
            Ok(None) => (self.backend.reader(), true),
            Err(backend::Error::NoSpace(error)) => {
                self.set_full(&error);
                self.release();
                (self.backend.reader(), false)
            }
            Err(error) => fatal::backend(&error),
        };
        if !done {
            let pause = began.elapsed().as_secs_f64() * 1_000.0;
            self.metrics.compaction_pause.observe(pause);
        }
        let event = Event::Rewritten { ticket, reader, done };
        if now || done {
            return self.post(event);
        }
        let rest = (began.elapsed() * (PACE - 1)).min(REST_MAX);
        self.resting = Some((Instant::now() + rest, event));
    }

    /// Posts what was held back, once its time has come.
    fn wake_up(&mut self) {
        if let Some((until, event)) = self.resting.take() {
            if until <= Instant::now() {
                self.post(event);
            } else {
                self.resting = Some((until, event));
            }
        }
    }

    fn post(&self, event: Event) {
        self.mailbox.post(Mail::Event(event));
    }

    /// Gives a part of the reserve back to the disk, for the job that found no room.
    fn release(&mut self) {
        let keep = self.reserve.held().saturating_sub(RESERVE_KEPT_BYTES).max(RESERVE_KEPT_BYTES);
        if let Err(error) = self.reserve.release_down_to(keep) {
            fatal::backend(&error);
        }
    }

    /// Ends the state of a full disk once the reserve is whole again.
    fn refill(&mut self) {
        match self.reserve.refill(REFILL_MARGIN_BYTES) {
            Ok(true) => {
                self.full = false;
                tracing::info!("the disk has room again");
                self.post(Event::DiskSpace(DiskSpace::Ok));
            }
            Ok(false) => {}
            Err(error) => fatal::backend(&error),
        }
    }

    fn set_full(&mut self, error: &vfs::Error) {
        if !std::mem::replace(&mut self.full, true) {
            tracing::warn!(%error, "the disk is full: new writes are refused");
            self.post(Event::DiskSpace(DiskSpace::Full));
        }
    }
}
