//! When the backend gets what was applied, and what of the log is no longer needed then.

use crate::effect::{Effect, Effects};
use crate::member::{Member, Stop};
use crate::request::Ticket;
use types::{Index, Time};

/// Bookkeeping of flush jobs.
///
/// Invariant: `before <= durable <= applied`.
#[derive(Debug)]
pub(crate) struct Flush {
    /// The job that is being written.
    in_flight: Option<InFlight>,
    /// Since when there is something that is not in a job.
    since: Option<Time>,
    /// Bytes of the log since the last job was taken.
    logged: u64,
    /// Applied index of the last durable job.
    durable: Index,
    /// Applied index of the durable job before: damage in the last job cuts back to it, so the
    /// log must reach back that far.
    before: Index,
    /// Up to where the log was given up.
    trimmed: Index,
    /// A flush is due whatever size and age say.
    forced: bool,
}

/// A job that is being written.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    ticket: Ticket,
    applied: Index,
    bytes: usize,
}

impl Flush {
    pub(crate) fn new(durable: Index) -> Flush {
        Flush {
            in_flight: None,
            since: None,
            logged: 0,
            durable,
            before: Index(0),
            trimmed: Index(0),
            forced: false,
        }
    }

    /// Something was applied.
    pub(crate) fn changed(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }

    /// So much was handed to the log.
    pub(crate) fn logged(&mut self, bytes: u64) {
        self.logged += bytes;
    }

    pub(crate) fn force(&mut self) {
        self.forced = true;
    }

    pub(crate) fn durable(&self) -> Index {
        self.durable
    }

    /// True while something is not durable yet.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight.is_some() || self.since.is_some()
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }
}

impl Member {
    pub(crate) fn schedule_flush(&mut self, now: Time, effects: &mut Effects) {
        if self.flush.in_flight.is_some() || self.store.is_suspended() {
            return;
        }
        let is_old =
            self.flush.since.is_some_and(|since| self.config.flush_interval <= now.since(since));
        let is_large = self.config.flush_bytes <= self.store.pending().bytes
            || self.config.flush_log_bytes <= self.flush.logged;
        let is_last = self.stop == Stop::Asked && self.flush.since.is_some();
        if !is_old && !is_large && !is_last && !self.flush.forced {
            return;
        }
        self.flush.forced = false;
        let pending = self.store.pending();
        if pending.entries == 0 && pending.removals == 0 {
            return;
        }
        let job = self.store.take_flush(self.conf_state());
        self.flush.since = None;
        self.flush.logged = 0;
        let ticket = self.ticket();
        let (applied, bytes) = (job.meta.applied, pending.bytes);
        self.flush.in_flight = Some(InFlight { ticket, applied, bytes });
        self.compaction.flush_taken(ticket);
        effects.push(Effect::Flush { ticket, job });
    }

    pub(crate) fn flushed(
        &mut self,
        ticket: Ticket,
        reader: backend::Reader,
        effects: &mut Effects,
    ) {
        let Some(job) = self.flush.in_flight.take() else {
            debug_assert!(false, "no flush is under way");
            return;
        };
        assert_eq!(job.ticket, ticket, "another flush is under way");
        self.flush.before = self.flush.durable;
        self.flush.durable = job.applied;
        self.store.flushed(reader);
        self.compaction.flushed(ticket);
        self.trim(effects);
    }

    /// Bytes of changes that the backend does not have yet.
    pub(crate) fn unflushed_bytes(&self) -> usize {
        self.store.pending().bytes + self.flush.in_flight.map_or(0, |job| job.bytes)
    }

    /// Gives up what no recovery and no other member needs. The last entry always stays: a log
    /// without entries could not be told from one that lost them.
    fn trim(&mut self, effects: &mut Effects) {
        let last = self.node.status().last;
        let kept = if self.node.is_sole_voter() { 1 } else { self.config.catch_up_entries.max(1) };
        // The log lets go only of what its own hard state says is committed.
        let upto = self.flush.before.min(Index(last.0.saturating_sub(kept)));
        let upto = upto.min(self.node.commit_written());
        if self.flush.trimmed < upto {
            self.flush.trimmed = upto;
            self.node.trimmed(upto);
            effects.push(Effect::Trim(upto));
        }
    }
}
