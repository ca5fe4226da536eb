//! The flush thread: owns the backend, writes its jobs, and rewrites segments at a pace.

use super::fatal;
use super::mailbox::{Mail, Mailbox};
use super::space::{Part, Space};
use crate::metrics::Metrics;
use backend::{Backend, FlushJob, Pace, Reserve};
use member::{Effect, Event, Ticket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A paced rewrite takes one part of the time in this many.
const PACE: u32 = 25;
/// A rewrite never rests longer than this, so that load cannot starve it.
const REST_MAX: Duration = Duration::from_secs(5);
/// How often a full disk is tried again.
const FULL_RETRY: Duration = Duration::from_millis(200);
/// A job that finds no room gets the reserve in this many parts.
const RESERVE_PARTS: u64 = 4;
const IDLE: Duration = Duration::from_secs(1);

struct FlushThread {
    backend: Backend,
    reserve: Reserve,
    mailbox: Arc<Mailbox>,
    metrics: Metrics,
    /// Tells the loop that allocating fails.
    space: Space,
    /// A rewrite that is held back for the pace: until when, and whether it was the last.
    resting: Option<(Instant, Ticket, bool)>,
}

/// Runs until the loop is gone.
pub(super) fn run(
    backend: Backend,
    reserve: Reserve,
    work: &Receiver<Effect>,
    (mailbox, space): (Arc<Mailbox>, Space),
    metrics: Metrics,
) {
    let mut thread = FlushThread { backend, reserve, mailbox, metrics, space, resting: None };
    if !thread.reserve.is_full() {
        // It was used by a life before this one, or there never was room for it.
        thread.space.set(Part::Backend, true, None);
    }
    loop {
        let wait = match &thread.resting {
            Some((until, ..)) => until.saturating_duration_since(Instant::now()).min(IDLE),
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
        if thread.is_full() {
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
                    if !self.make_room(&error) {
                        std::thread::sleep(FULL_RETRY);
                    }
                }
                Err(error) => fatal::backend(&error),
            }
        };
        self.post(Event::Flushed { ticket, reader });
    }

    fn rewrite(&mut self, ticket: Ticket, now: bool) {
        let began = Instant::now();
        // On a full disk space is wanted at once, and all of it.
        let now = now || self.is_full();
        let pace = if now { Pace::Now } else { Pace::Paced };
        let done = match self.backend.rewrite_step(pace) {
            Ok(step) => step.is_none() && !self.wants_room_to_rewrite(),
            Err(backend::Error::NoSpace(error)) => {
                if !self.make_room(&error) {
                    std::thread::sleep(FULL_RETRY);
                }
                false
            }
            Err(error) => fatal::backend(&error),
        };
        if !done {
            let pause = began.elapsed().as_secs_f64() * 1_000.0;
            self.metrics.compaction_pause.observe(pause);
        }
        if now || done {
            return self.rewritten(ticket, done);
        }
        let rest = (began.elapsed() * (PACE - 1)).min(REST_MAX);
        self.resting = Some((Instant::now() + rest, ticket, done));
    }

    /// A segment is copied only into room that is there: true if garbage waits for some, and a
    /// part of the reserve was given up for it.
    fn wants_room_to_rewrite(&mut self) -> bool {
        self.is_full() && 0 < self.backend.garbage() && self.release()
    }

    /// Posts what was held back, once its time has come.
    fn wake_up(&mut self) {
        if let Some((until, ticket, done)) = self.resting
            && until <= Instant::now()
        {
            self.resting = None;
            self.rewritten(ticket, done);
        }
    }

    /// The reader is that of now: jobs may have been flushed while the rewrite rested.
    fn rewritten(&self, ticket: Ticket, done: bool) {
        let reader = self.backend.reader();
        self.post(Event::Rewritten { ticket, reader, done });
    }

    fn post(&self, event: Event) {
        self.mailbox.post(Mail::Event(event));
    }

    fn is_full(&self) -> bool {
        self.space.is_full(Part::Backend)
    }

    /// After an allocation that failed: gives up a part of the reserve, and once there is none,
    /// rewrites a segment with garbage. False if nothing could be done.
    fn make_room(&mut self, error: &vfs::Error) -> bool {
        self.space.set(Part::Backend, true, Some(error));
        if self.release() {
            return true;
        }
        match self.backend.rewrite_step(Pace::Now) {
            Ok(step) => step.is_some(),
            Err(backend::Error::NoSpace(_)) => false,
            Err(error) => fatal::backend(&error),
        }
    }

    /// Gives a part of the reserve back to the disk; false if there is none left.
    fn release(&mut self) -> bool {
        let held = self.reserve.held();
        let keep = held.saturating_sub((self.reserve.wanted() / RESERVE_PARTS).max(1));
        if let Err(error) = self.reserve.release_down_to(keep) {
            fatal::backend(&error);
        }
        0 < held
    }

    /// Ends the state of a full disk once the reserve is whole again, with some room beyond it.
    fn refill(&mut self) {
        match self.reserve.refill(self.reserve.margin()) {
            Ok(true) => self.space.set(Part::Backend, false, None),
            Ok(false) => {}
            Err(error) => fatal::backend(&error),
        }
    }
}

#[cfg(test)]
mod tests;
