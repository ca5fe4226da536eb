//! The log thread: writes and syncs batches in order, and wakes the loop once per sync.

use super::fatal;
use super::mailbox::{Mail, Mailbox};
use super::space::{Part, Space};
use super::threads::LogWork;
use member::{Effect, Event, Ticket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use wal::{Batch, Use, Wal};

/// An idle log is sealed after this long, so that only fresh batches can be in doubt.
const IDLE: Duration = Duration::from_secs(1);
/// How often a full disk is tried again.
const FULL_RETRY: Duration = Duration::from_millis(200);

/// The log with what its thread knows about the disk.
struct LogThread {
    wal: Wal,
    mailbox: Arc<Mailbox>,
    /// Tells the loop that allocating fails.
    space: Space,
    /// The loop has asked for the end.
    is_closing: bool,
}

/// Runs until `LogWork::Close`, or until the loop is gone.
pub(super) fn run(wal: Wal, work: &Receiver<LogWork>, (mailbox, space): (Arc<Mailbox>, Space)) {
    let mut thread = LogThread { wal, mailbox, space, is_closing: false };
    while !thread.is_closing {
        match work.recv_timeout(IDLE) {
            Ok(LogWork::Effect(Effect::Persist { ticket, batch })) => {
                thread.persist(ticket, &batch, work);
            }
            Ok(LogWork::Effect(Effect::Trim(upto))) => thread.trim(upto),
            Ok(LogWork::Effect(other)) => {
                tracing::error!(effect = ?other, "this is no work for the log thread");
            }
            Err(RecvTimeoutError::Timeout) => thread.idle(),
            Ok(LogWork::Close) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(error) = thread.wal.seal() {
        fatal::log(&error);
    }
}

impl LogThread {
    fn persist(&mut self, ticket: Ticket, batch: &Batch, work: &Receiver<LogWork>) {
        // The loop refuses new writes on a full disk; what is on its way may use what is kept.
        let mut space = if self.is_disk_full() { Use::Reserve } else { Use::Normal };
        loop {
            match self.wal.append_with(batch, space) {
                Ok(()) => break,
                Err(wal::Error::NoSpace(error)) => {
                    self.space.set(Part::Log, true, Some(&error));
                    if space == Use::Reserve {
                        self.wait_for_room(work);
                    }
                    space = Use::Reserve;
                }
                Err(error) => fatal::log(&error),
            }
        }
        self.mailbox.post(Mail::Event(Event::Persisted(ticket)));
    }

    /// Waits a moment. A trim that comes meanwhile makes room.
    fn wait_for_room(&mut self, work: &Receiver<LogWork>) {
        match work.recv_timeout(FULL_RETRY) {
            Ok(LogWork::Effect(Effect::Trim(upto))) => self.trim(upto),
            Ok(LogWork::Effect(other)) => {
                tracing::error!(effect = ?other, "this comes while a batch is written");
            }
            Ok(LogWork::Close) => self.is_closing = true,
            Err(RecvTimeoutError::Timeout) => {}
            // The end of the process is near.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(FULL_RETRY),
        }
    }

    fn is_disk_full(&self) -> bool {
        self.space.is_full(Part::Log) || self.space.is_full(Part::Backend)
    }

    fn trim(&mut self, upto: types::Index) {
        match self.wal.trim(upto) {
            Ok(()) => self.prepare(),
            Err(wal::Error::NoSpace(error)) => self.space.set(Part::Log, true, Some(&error)),
            Err(error) => fatal::log(&error),
        }
    }

    /// Seals, and has a segment ready for the next roll.
    fn idle(&mut self) {
        match self.wal.seal() {
            Ok(()) => self.prepare(),
            Err(wal::Error::NoSpace(error)) => self.space.set(Part::Log, true, Some(&error)),
            Err(error) => fatal::log(&error),
        }
    }

    /// Has a segment ready beside the one that is kept for a full disk. What the backend gives up
    /// of its reserve is not for this.
    fn prepare(&mut self) {
        if self.space.is_full(Part::Backend) && !self.wal.is_prepared() {
            return;
        }
        match self.wal.prepare() {
            Ok(true) => self.space.set(Part::Log, false, None),
            Ok(false) => {}
            Err(error) => fatal::log(&error),
        }
    }
}

#[cfg(test)]
mod tests;
