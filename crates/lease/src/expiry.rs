//! The leader-local half: when each lease runs out.

use crate::checkpoint::Checkpoints;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;
use types::{LeaseId, Time};

/// Bounds of expiry; the defaults are etcd's.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// What a lease gets on top of its TTL after a change of leader.
    pub election_timeout: Duration,
    /// Leases that may run out within one second after a change of leader.
    pub spread_per_second: usize,
    /// After how long an unfinished revoke is tried again.
    pub retry: Duration,
    /// How often what is left of a lease is recorded; `None` is off.
    pub checkpoint_interval: Option<Duration>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            election_timeout: Duration::from_secs(1),
            spread_per_second: 750,
            retry: Duration::from_secs(3),
            checkpoint_interval: None,
        }
    }
}

/// What a renewal comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renew {
    /// The lease runs anew; answer with its TTL.
    Done {
        /// Granted seconds.
        ttl: i64,
    },
    /// Part of the TTL is on record as used up: commit a checkpoint of 0 first, then renew again.
    NeedsClear,
    /// The lease ran out and its revoke is on the way: answer when that is decided.
    Expired,
    /// There is no such lease: answer with TTL 0.
    Unknown,
    /// This member does not lead.
    NotLeader,
}

/// What is left of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remaining {
    /// Whole seconds, toward zero; negative once it ran out.
    pub seconds: i64,
    /// Granted seconds.
    pub ttl: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Clock {
    ttl: i64,
    deadline: Time,
    /// Where the lease stands in `queue`: no later than its deadline, or when its revoke is tried
    /// again. A renewal leaves it where it stands; it moves on once its time there has come.
    queued: Time,
}

/// Deadlines of the leader. Empty on every other member.
///
/// Invariant: `queue` holds exactly (clock.queued, id) of every lease in `clocks`.
#[derive(Debug)]
pub struct Expiry {
    config: Config,
    leading: bool,
    clocks: HashMap<LeaseId, Clock>,
    queue: BTreeSet<(Time, LeaseId)>,
    checkpoints: Checkpoints,
}

impl Expiry {
    /// Of a member that does not lead.
    pub fn new(config: Config) -> Expiry {
        let checkpoints = Checkpoints::new(config.checkpoint_interval);
        Expiry {
            config,
            leading: false,
            clocks: HashMap::new(),
            queue: BTreeSet::new(),
            checkpoints,
        }
    }

    /// True between `promote` and `demote`.
    pub fn is_leading(&self) -> bool {
        self.leading
    }

    /// This member leads and has applied an entry of its own term: every lease starts anew with
    /// its full or checkpointed TTL plus one election timeout, spread out so that no second sees
    /// more than `spread_per_second` of them run out.
    pub fn promote(&mut self, now: Time, table: &Table) {
        self.demote();
        self.leading = true;
        let start = now + self.config.election_timeout;
        let mut order: Vec<(Time, LeaseId, i64)> = table
            .iter()
            .map(|(id, lease)| (start + seconds(lease.restart_ttl()), id, lease.ttl))
            .collect();
        order.sort_unstable();
        let every = self.config.spread_per_second.max(1);
        for at in 0..order.len() {
            if every <= at {
                let earliest = order[at - every].0 + Duration::from_secs(1);
                order[at].0 = order[at].0.max(earliest);
            }
            let (deadline, id, ttl) = order[at];
            self.set(id, ttl, deadline);
            let remaining = table.get(id).map_or(0, |lease| lease.remaining);
            self.checkpoints.started(id, ttl, now, 0 < remaining);
        }
    }

    /// This member does not lead any more.
    pub fn demote(&mut self) {
        self.leading = false;
        self.clocks.clear();
        self.queue.clear();
        self.checkpoints.clear();
    }

    /// A grant was applied.
    pub fn granted(&mut self, now: Time, id: LeaseId, ttl: i64) {
        if self.leading {
            self.set(id, ttl, now + seconds(ttl));
            self.checkpoints.started(id, ttl, now, false);
        }
    }

    /// A revoke was applied.
    pub fn revoked(&mut self, id: LeaseId) {
        if let Some(clock) = self.clocks.remove(&id) {
            self.queue.remove(&(clock.queued, id));
        }
        self.checkpoints.ended(id);
    }

    /// A checkpoint was applied; `remaining` 0 clears.
    pub fn checkpointed(&mut self, id: LeaseId, remaining: i64) {
        if self.leading {
            self.checkpoints.applied(id, remaining);
        }
    }

    /// Renews a lease for its granted TTL, if nothing has to happen first.
    pub fn renew(&mut self, now: Time, id: LeaseId) -> Renew {
        if !self.leading {
            return Renew::NotLeader;
        }
        let Some(clock) = self.clocks.get_mut(&id) else { return Renew::Unknown };
        if clock.deadline <= now {
            return Renew::Expired;
        }
        if self.checkpoints.is_recorded(id) {
            self.checkpoints.clearing(id);
            return Renew::NeedsClear;
        }
        let ttl = clock.ttl;
        clock.deadline = now + seconds(ttl);
        if clock.deadline < clock.queued {
            // It had more than its TTL, after a change of leader.
            self.queue.remove(&(clock.queued, id));
            clock.queued = clock.deadline;
            self.queue.insert((clock.queued, id));
        }
        self.checkpoints.started(id, ttl, now, false);
        Renew::Done { ttl }
    }

    /// What is left of a lease; `None` if it is unknown or this member does not lead.
    pub fn time_to_live(&self, now: Time, id: LeaseId) -> Option<Remaining> {
        let clock = self.clocks.get(&id)?;
        let left = whole_seconds(clock.deadline.since(now));
        let over = whole_seconds(now.since(clock.deadline));
        Some(Remaining { seconds: left - over, ttl: clock.ttl })
    }

    /// Leases that ran out, looking at `count_max` at most: to be revoked through the log. Each
    /// is named again after `Config::retry`, until its revoke is applied.
    pub fn due(&mut self, now: Time, count_max: usize, out: &mut Vec<LeaseId>) {
        for _ in 0..count_max {
            let Some(&(queued, id)) = self.queue.first() else { return };
            if now < queued {
                return;
            }
            self.queue.pop_first();
            let clock = self.clocks.get_mut(&id).expect("queued leases have a clock");
            let is_due = clock.deadline <= now;
            clock.queued = if is_due { now + self.config.retry } else { clock.deadline };
            self.queue.insert((clock.queued, id));
            if is_due {
                out.push(id);
            }
        }
    }

    /// Leases whose remaining TTL should be recorded, with what is left of each in whole seconds
    /// (at least 1); at most `count_max`. Each counts as proposed.
    pub fn checkpoints_due(&mut self, now: Time, count_max: usize, out: &mut Vec<(LeaseId, i64)>) {
        for id in self.checkpoints.due(now, count_max) {
            let clock = self.clocks.get(&id).expect("leases with a checkpoint have a clock");
            let left = whole_seconds_up(clock.deadline.since(now));
            if now < clock.deadline && 0 < left && left < clock.ttl {
                self.checkpoints.proposed(id);
                out.push((id, left));
            }
        }
    }

    /// When `due` or `checkpoints_due` may have something next; early if leases were renewed.
    pub fn next_deadline(&self) -> Option<Time> {
        let revoke = self.queue.first().map(|(time, _)| *time);
        [revoke, self.checkpoints.next_deadline()].into_iter().flatten().min()
    }

    /// All leases with a deadline, by remaining time.
    pub fn by_deadline(&self) -> Vec<LeaseId> {
        let ordered: BTreeMap<(Time, LeaseId), ()> =
            self.clocks.iter().map(|(id, clock)| ((clock.deadline, *id), ())).collect();
        ordered.into_keys().map(|(_, id)| id).collect()
    }

    fn set(&mut self, id: LeaseId, ttl: i64, deadline: Time) {
        let clock = Clock { ttl, deadline, queued: deadline };
        if let Some(old) = self.clocks.insert(id, clock) {
            self.queue.remove(&(old.queued, id));
        }
        self.queue.insert((deadline, id));
    }
}

fn seconds(ttl: i64) -> Duration {
    Duration::from_secs(u64::try_from(ttl).unwrap_or(0))
}

fn whole_seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

/// Rounded up, so that a checkpoint never shortens a lease.
fn whole_seconds_up(duration: Duration) -> i64 {
    whole_seconds(duration).saturating_add(i64::from(0 < duration.subsec_nanos()))
}
