//! When what is left of a long lease is put on record, and for which leases it is.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use types::{LeaseId, Time};

#[derive(Debug, Default)]
struct State {
    /// When the next checkpoint is due, if one is planned.
    planned: Option<Time>,
    /// A checkpoint is in the table.
    recorded: bool,
    /// A checkpoint was proposed and is not applied yet: it may be in the table any moment.
    proposed: bool,
    /// A renewal waits for a clearing: nothing is to be proposed behind it.
    clearing: bool,
}

/// Checkpoints of the leader.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    interval: Option<Duration>,
    states: HashMap<LeaseId, State>,
    queue: BTreeSet<(Time, LeaseId)>,
}

impl Checkpoints {
    pub(crate) fn new(interval: Option<Duration>) -> Checkpoints {
        Checkpoints { interval, ..Checkpoints::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.queue.clear();
    }

    /// The lease starts to run (again). Only leases longer than the interval are checkpointed.
    pub(crate) fn started(&mut self, id: LeaseId, ttl: i64, now: Time, recorded: bool) {
        if self.interval.is_none() && !recorded && self.states.is_empty() {
            return;
        }
        self.unplan(id);
        let planned = self
            .interval
            .filter(|interval| u64::try_from(ttl).is_ok_and(|ttl| interval.as_secs() < ttl));
        let planned = planned.map(|interval| now + interval);
        if planned.is_none() && !recorded {
            self.states.remove(&id);
            return;
        }
        let state = self.states.entry(id).or_default();
        (state.planned, state.recorded) = (planned, recorded);
        if let Some(time) = planned {
            self.queue.insert((time, id));
        }
    }

    pub(crate) fn ended(&mut self, id: LeaseId) {
        self.unplan(id);
        self.states.remove(&id);
    }

    pub(crate) fn proposed(&mut self, id: LeaseId) {
        self.states.entry(id).or_default().proposed = true;
    }

    pub(crate) fn applied(&mut self, id: LeaseId, remaining: i64) {
        if let Some(state) = self.states.get_mut(&id) {
            state.recorded = 0 < remaining;
            if remaining == 0 {
                (state.proposed, state.clearing) = (false, false);
            }
        } else if 0 < remaining {
            self.states.insert(id, State { recorded: true, ..State::default() });
        }
    }

    pub(crate) fn clearing(&mut self, id: LeaseId) {
        self.states.entry(id).or_default().clearing = true;
    }

    pub(crate) fn is_recorded(&self, id: LeaseId) -> bool {
        self.states.get(&id).is_some_and(|state| state.recorded || state.proposed)
    }

    /// Leases whose checkpoint is due; each is planned again one interval later.
    pub(crate) fn due(&mut self, now: Time, count_max: usize) -> Vec<LeaseId> {
        let mut due = Vec::new();
        let Some(interval) = self.interval else { return due };
        while due.len() < count_max {
            let Some(&(time, id)) = self.queue.first() else { break };
            if now < time {
                break;
            }
            self.queue.pop_first();
            let state = self.states.get_mut(&id).expect("queued leases have a state");
            state.planned = Some(now + interval);
            self.queue.insert((now + interval, id));
            if !state.clearing {
                due.push(id);
            }
        }
        due
    }

    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.queue.first().map(|(time, _)| *time)
    }

    fn unplan(&mut self, id: LeaseId) {
        if let Some(time) = self.states.get_mut(&id).and_then(|state| state.planned.take()) {
            self.queue.remove(&(time, id));
        }
    }
}
