//! The log thread: writes and syncs batches in order, and wakes the loop once per sync.

use super::fatal;
use super::mailbox::{Mail, Mailbox};
use super::threads::LogWork;
use member::event::DiskSpace;
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
    /// True while allocating fails.
    full: bool,
}

/// Runs until `LogWork::Close`, or until the loop is gone.
pub(super) fn run(wal: Wal, work: &Receiver<LogWork>, mailbox: Arc<Mailbox>) {
    let mut thread = LogThread { wal, mailbox, full: false };
    loop {
        match work.recv_timeout(IDLE) {
            Ok(LogWork::Effect(Effect::Persist { ticket, batch })) => {
                thread.persist(ticket, &batch);
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
    fn persist(&mut self, ticket: Ticket, batch: &Batch) {
        let mut space = Use::Normal;
        loop {
            match self.wal.append_with(batch, space) {
                Ok(()) => break,
                Err(wal::Error::NoSpace(error)) => {
                    self.set_full(Some(&error));
                    // The loop refuses new writes from here on; what is on its way may use what
                    // is kept for this.
                    if space == Use::Reserve {
                        std::thread::sleep(FULL_RETRY);
                    }
                    space = Use::Reserve;
                }
                Err(error) => fatal::log(&error),
            }
        }
        self.mailbox.post(Mail::Event(Event::Persisted(ticket)));
    }

    fn trim(&mut self, upto: types::Index) {
        match self.wal.trim(upto) {
            Ok(()) => {}
            Err(wal::Error::NoSpace(error)) => self.set_full(Some(&error)),
            Err(error) => fatal::log(&error),
        }
    }

    /// Seals, and has a segment ready for the next roll.
    fn idle(&mut self) {
        match self.wal.seal() {
            Ok(()) => {}
            Err(wal::Error::NoSpace(error)) => return self.set_full(Some(&error)),
            Err(error) => fatal::log(&error),
        }
        match self.wal.prepare() {
            Ok(true) => self.set_full(None),
            Ok(false) => {}
            Err(error) => fatal::log(&error),
        }
    }

    /// Tells the loop when the state of the disk changes.
    fn set_full(&mut self, full: Option<&vfs::Error>) {
        if full.is_some() == self.full {
            return;
        }
        self.full = full.is_some();
        let space = match full {
            Some(error) => {
                tracing::warn!(%error, "the disk is full: new writes are refused");
                DiskSpace::Full
            }
            None => {
                tracing::info!("the disk has room again");
                DiskSpace::Ok
            }
        };
        self.mailbox.post(Mail::Event(Event::DiskSpace(space)));
    }
}
