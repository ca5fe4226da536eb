//! Compaction: the marker moves at once, versions are dropped in slices (contract: Compaction).
//!
//! What can be dropped is known without walking the index: only a change that superseded
//! something, or a tombstone, leaves anything to drop, and it is queued when it happens.

use crate::keyspace::Keyspace;
use crate::kv;
use crate::slots::SlotQueue;
use types::{OpError, Revision};

/// Which slots compaction has to look at.
#[derive(Default, Debug)]
pub(crate) struct Scrub {
    /// By main revision of the change. A slot may have been freed, or used again, since: looking
    /// at it once more is harmless.
    queue: SlotQueue,
    /// Slots with a tombstone exactly at the compacted revision: kept until the next compaction.
    kept: Vec<u32>,
    /// The part of `kept` that the running compaction still has to look at.
    due: Vec<u32>,
}

impl Scrub {
    pub(crate) fn push(&mut self, main: i64, slot: u32) {
        self.queue.push(main, slot);
    }

    fn next(&mut self, compacted: i64) -> Option<u32> {
        if let Some(slot) = self.due.pop() {
            return Some(slot);
        }
        self.queue.pop_upto(compacted)
    }

    fn is_done(&self, compacted: i64) -> bool {
        self.due.is_empty() && self.queue.front().is_none_or(|main| compacted < main)
    }

    /// Gives back what a long history took.
    fn shrink(&mut self) {
        self.due.shrink_to(0);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.queue.memory_bytes() + (self.kept.capacity() + self.due.capacity()) * 4
    }
}

/// What a slice of compaction did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Versions that are gone: garbage in the backend.
    pub dropped: Vec<Revision>,
    /// True if nothing is left to drop at the compacted revision.
    pub done: bool,
}

impl Keyspace {
    /// Makes everything below a revision unreadable, and lets what it supersedes go.
    pub fn compact(&mut self, revision: i64) -> Result<(), OpError> {
        if revision <= self.compacted {
            return Err(OpError::Compacted);
        }
        if self.revision < revision {
            return Err(OpError::FutureRevision);
        }
        self.compacted = revision;
        self.quota.compact(revision);
        let kept = std::mem::take(&mut self.scrub.kept);
        self.scrub.due.extend(kept);
        Ok(())
    }

    /// Drops what the last compaction let go, looking at `max` keys at most.
    pub fn compact_step(&mut self, max: usize) -> Progress {
        let mut dropped = Vec::new();
        for _ in 0..max {
            let Some(slot) = self.scrub.next(self.compacted) else { break };
            self.scrub_slot(slot, &mut dropped);
        }
        let done = self.scrub.is_done(self.compacted);
        if done {
            self.scrub.shrink();
        }
        Progress { dropped, done }
    }

    /// Applies the rule to one key: of the versions up to the compacted revision only the newest
    /// stays, and that one not if it is a tombstone below.
    fn scrub_slot(&mut self, slot: u32, dropped: &mut Vec<Revision>) {
        let compacted = self.compacted;
        let entry = self.slab.get_mut(slot);
        let past = entry.past_upto(compacted);
        let newest_is_old = entry.newest.main <= compacted;
        let last = if newest_is_old { Some(&entry.newest) } else { past.last() };
        let Some(last) = last.filter(|last| last.main != 0) else { return };
        let is_dead = last.is_tombstone() && last.main < compacted;
        if last.is_tombstone() && !is_dead {
            self.scrub.kept.push(slot);
        }
        let gone = if newest_is_old || is_dead { past.len() } else { past.len() - 1 };
        dropped.extend(past[..gone].iter().map(super::slab::Version::revision));
        entry.drop_past(gone);
        if newest_is_old && is_dead {
            dropped.push(entry.newest.revision());
            self.forget(slot);
        }
    }

    /// Takes a key out whose newest version is a dropped tombstone.
    fn forget(&mut self, slot: u32) {
        let record = self.slab.get_mut(slot).record.take().expect("a tombstone stays resident");
        self.resident.release(&record);
        let pos = self.tree.find(kv::key(&record)).expect("an entry's key is in the index");
        self.tree.remove(pos);
        self.slab.remove(slot);
    }
}
