//! Committed entries on their way into the store, and what follows from each.

use crate::effect::{Effect, Effects, Fatal, Note};
use crate::fetch::Fetch;
use crate::member::{Alarm, Member, Publish};
use crate::request::Response;
use crate::waiting::{Waiter, Waiting};
use std::collections::VecDeque;
use store::{Applied, Entry, Outcome};
use types::{Index, OpError, Term, Time, limits};

/// Entries that are committed and durable here, but not applied.
#[derive(Debug)]
pub(crate) struct Apply {
    queue: VecDeque<wal::Entry>,
    /// Bytes of data in it.
    bytes: usize,
    /// The first entry, decoded: it waits for cold records.
    first: Option<Entry>,
    is_fetching: bool,
    /// The last entry that is applied whole.
    done: Index,
    /// Index and term of the entry of which only slices are applied.
    cut: Option<(Index, Term)>,
}

impl Apply {
    pub(crate) fn new(done: Index) -> Apply {
        Apply { queue: VecDeque::new(), bytes: 0, first: None, is_fetching: false, done, cut: None }
    }

    pub(crate) fn push(&mut self, entries: Vec<wal::Entry>) {
        self.bytes += entries.iter().map(|entry| entry.data.len()).sum::<usize>();
        self.queue.extend(entries);
    }

    fn pop(&mut self) -> Option<wal::Entry> {
        let entry = self.queue.pop_front()?;
        self.bytes -= entry.data.len();
        Some(entry)
    }

    /// Bytes of entries that wait to be applied.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.cut.is_none()
    }

    pub(crate) fn can_go_on(&self, is_pushed_back: bool) -> bool {
        self.cut.is_some() || (!self.queue.is_empty() && !self.is_fetching && !is_pushed_back)
    }

    pub(crate) fn done(&self) -> Index {
        self.done
    }
}

impl Member {
    /// True while the backend is so far behind that apply waits for it.
    pub(crate) fn is_pushed_back(&self) -> bool {
        self.config.unflushed_bytes_max <= self.unflushed_bytes()
    }

    /// Applies committed entries, as many as fit into one turn.
    pub(crate) fn apply_committed(&mut self, now: Time, effects: &mut Effects) {
        let before = self.apply.done;
        for _ in 0..limits::APPLY_ENTRIES_PER_TURN {
            if self.is_dead || !self.apply_next(now, effects) {
                break;
            }
        }
        if before < self.apply.done {
            self.node.applied(self.apply.done);
            self.flush.changed(now);
            effects.push(Effect::Note(Note::Applied(self.apply.done)));
        }
    }

    /// One entry, or one slice of a large one; false if nothing more can be done in this turn.
    fn apply_next(&mut self, now: Time, effects: &mut Effects) -> bool {
        if let Some((index, term)) = self.apply.cut {
            let Some(applied) = self.store.resume(limits::APPLY_KEYS_PER_TURN) else {
                return false;
            };
            self.apply.cut = None;
            self.applied(now, index, term, applied, effects);
            return true;
        }
        if !self.apply.can_go_on(self.is_pushed_back()) {
            return false;
        }
        let Some(entry) = self.first_entry(effects) else { return false };
        let revisions = self.store.needs(&entry);
        if !revisions.is_empty() {
            self.apply.first = Some(entry);
            self.apply.is_fetching = true;
            self.fetch(Fetch::Apply, revisions, effects);
            return false;
        }
        let Some(raw) = self.apply.pop() else { return false };
        let (index, term) = (raw.index, raw.term);
        match self.store.apply_slice(index, term, &entry, limits::APPLY_KEYS_PER_TURN) {
            Some(applied) => {
                self.applied(now, index, term, applied, effects);
                true
            }
            None => {
                self.apply.cut = Some((index, term));
                false
            }
        }
    }

    /// The first entry of the queue, decoded. A committed entry that cannot be read ends the
    /// member.
    fn first_entry(&mut self, effects: &mut Effects) -> Option<Entry> {
        if let Some(entry) = self.apply.first.take() {
            return Some(entry);
        }
        let raw = self.apply.queue.front()?;
        let decoded = match raw.kind {
            // Raft's own changes of the membership ask the state machine for nothing.
            wal::EntryKind::ConfChange if !raw.data.is_empty() => Entry::decode_conf(&raw.data),
            _ => Entry::decode(&raw.data),
        };
        match decoded {
            Ok(entry) => Some(entry),
            Err(error) => {
                self.is_dead = true;
                effects.push(Effect::Fatal(Fatal::Store(error)));
                None
            }
        }
    }

    /// The cold records that the first entry reads are here: it is applied before anything else
    /// uses them up.
    pub(crate) fn apply_fetched(&mut self, now: Time, effects: &mut Effects) {
        self.apply.is_fetching = false;
        self.apply_committed(now, effects);
    }

    fn applied(
        &mut self,
        now: Time,
        index: Index,
        term: Term,
        applied: Applied,
        effects: &mut Effects,
    ) {
        self.apply.done = index;
        if !self.leases.is_leading() && self.leads() && term == self.term {
            // From here on nothing of an earlier leader can be undecided.
            self.leases.promote(now, self.store.leases());
        }
        self.note_leases(now, &applied.facts, effects);
        if let Ok(Outcome::Compact(revision)) = &applied.result {
            self.compaction.begin(*revision);
            self.hash_compaction(*revision);
            effects.push(Effect::Note(Note::Compacted(*revision)));
        }
        if let Ok(Outcome::Conf(member, outcome)) = &applied.result {
            self.follow_conf(now, *member, *outcome, effects);
        }
        if applied.over_quota {
            self.want_alarm();
        }
        self.peers.applied(applied.id);
        if let Some(waiting) = self.proposals.take(applied.id) {
            self.answer(now, waiting, applied, effects);
        }
    }

    fn answer(&mut self, now: Time, waiting: Waiting, applied: Applied, effects: &mut Effects) {
        let revision = applied.revision;
        let result = if applied.over_quota { Err(OpError::NoSpace) } else { applied.result };
        match waiting.waiter {
            Waiter::Client(id) if matches!(result, Ok(Outcome::Conf(..))) => {
                let result = result.map(|outcome| self.members_response(&outcome));
                self.reply(id, result, effects);
            }
            Waiter::Client(id) => {
                self.reply_at(id, revision, result.and_then(response), effects);
            }
            Waiter::Physical(id) => {
                // A compaction that was done before waits for the clearing up under way, too.
                if result.is_ok() || self.compaction.is_active() {
                    self.compaction.wait(id, result.map(drop));
                } else {
                    self.reply_at(id, revision, result.and_then(response), effects);
                }
            }
            Waiter::Renew(id, lease) => {
                self.keep_alive(now, id, lease, waiting.deadline, effects);
            }
            Waiter::AutoCompaction(at) => {
                if let Some(compactor) = &mut self.compactor {
                    match result {
                        Ok(_) | Err(OpError::Compacted) => compactor.succeeded(now, at),
                        Err(_) => compactor.failed(),
                    }
                }
            }
            Waiter::Alarm => {
                self.alarm = Alarm::Idle;
                effects.push(Effect::Note(Note::NoSpaceAlarm));
            }
            Waiter::Publish => {
                self.publish = Publish::Done;
                effects.push(Effect::Note(Note::Ready));
            }
        }
    }
}

/// The outcome of an entry as an answer to the client that proposed it.
fn response(outcome: Outcome) -> Result<Response, OpError> {
    Ok(match outcome {
        Outcome::Put(outcome) => Response::Put(outcome),
        Outcome::Delete(outcome) => Response::Delete(outcome),
        Outcome::Txn(outcome) => Response::Txn(outcome),
        Outcome::Compact(_) => Response::Compact,
        Outcome::LeaseGrant { id, ttl } => Response::LeaseGrant { id, ttl },
        Outcome::LeaseRevoke => Response::LeaseRevoke,
        Outcome::Alarm(alarms) => {
            let alarm = |(member, kind): (_, store::AlarmKind)| (member, kind.into());
            Response::Alarm(alarms.into_iter().map(alarm).collect())
        }
        // What became of the first time is not known: as unknown as after a timeout.
        Outcome::Duplicate | Outcome::Fenced => return Err(OpError::Timeout),
        // Nobody waits for these as a client.
        Outcome::Noop | Outcome::Checkpoint | Outcome::Cluster | Outcome::Conf(..) => {
            Response::Barrier
        }
    })
}
