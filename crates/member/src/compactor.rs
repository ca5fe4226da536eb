//! Automatic compaction: when, and at which revision. It only decides; the member proposes.

use std::collections::VecDeque;
use std::time::Duration;
use types::Time;

/// What compacts by itself (`--auto-compaction-mode`, `--auto-compaction-retention`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoCompaction {
    /// Keep what is younger than this.
    Periodic(Duration),
    /// Keep this many revisions.
    Revision(i64),
}

/// Longest time between two compactions of the periodic mode; etcd's constant.
const INTERVAL_MAX: Duration = Duration::from_secs(3600);
/// The periodic mode looks this often in an interval; etcd's constant.
const SAMPLES_PER_INTERVAL: u32 = 10;
/// How often the revision mode looks; etcd's constant.
const REVISION_INTERVAL: Duration = Duration::from_secs(300);

/// Decides when to compact.
///
/// Invariant: at most one proposal is on its way (`proposed`).
#[derive(Debug)]
pub(crate) struct Compactor {
    mode: AutoCompaction,
    /// Revisions at the last looks, oldest first.
    samples: VecDeque<i64>,
    next_look: Time,
    last_success: Time,
    /// The first compaction waits for the whole retention.
    interval: Duration,
    last_revision: i64,
    proposed: bool,
}

impl Compactor {
    /// `None` if the retention is zero: off.
    pub(crate) fn new(mode: AutoCompaction, now: Time, revision: i64) -> Option<Compactor> {
        let interval = match mode {
            AutoCompaction::Periodic(period) if !period.is_zero() => period,
            AutoCompaction::Revision(kept) if 0 < kept => REVISION_INTERVAL,
            _ => return None,
        };
        let mut compactor = Compactor {
            mode,
            samples: VecDeque::new(),
            next_look: now,
            last_success: now,
            interval,
            last_revision: 0,
            proposed: false,
        };
        compactor.samples.push_back(revision);
        compactor.next_look = now + compactor.look_interval();
        Some(compactor)
    }

    fn look_interval(&self) -> Duration {
        match self.mode {
            AutoCompaction::Periodic(period) => period.min(INTERVAL_MAX) / SAMPLES_PER_INTERVAL,
            AutoCompaction::Revision(_) => REVISION_INTERVAL,
        }
    }

    /// The revision to compact at now, if any; a member that does not lead only looks.
    pub(crate) fn tick(&mut self, now: Time, revision: i64, leads: bool) -> Option<i64> {
        if now < self.next_look {
            return None;
        }
        self.next_look = now + self.look_interval();
        let wanted = match self.mode {
            AutoCompaction::Periodic(period) => {
                let wanted = self.samples.front().copied().unwrap_or(revision);
                self.samples.push_back(revision);
                let look = self.look_interval().as_nanos().max(1);
                let kept = usize::try_from(period.as_nanos() / look).unwrap_or(usize::MAX);
                while kept.saturating_add(1) < self.samples.len() {
                    self.samples.pop_front();
                }
                let early = now.since(self.last_success) < self.interval;
                if early { 0 } else { wanted }
            }
            AutoCompaction::Revision(kept) => revision - kept,
        };
        if wanted <= 0 || wanted == self.last_revision || !leads || self.proposed {
            return None;
        }
        self.proposed = true;
        Some(wanted)
    }

    /// The compaction was applied, or had been done before.
    pub(crate) fn succeeded(&mut self, now: Time, revision: i64) {
        self.proposed = false;
        self.last_success = now;
        self.last_revision = revision;
        if let AutoCompaction::Periodic(period) = self.mode {
            self.interval = period.min(INTERVAL_MAX);
        }
    }

    /// The compaction failed: it is tried again at the next look.
    pub(crate) fn failed(&mut self) {
        self.proposed = false;
    }
}
