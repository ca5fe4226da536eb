//! Proposals on their way: who waits for which, and what has not reached raft yet.

use crate::ids::ProposalIds;
use crate::request::RequestId;
use bytes::Bytes;
use std::collections::VecDeque;
use types::{LeaseId, MemberId, Time};

/// Every so many proposals carry the floor of ids.
const FLOOR_EVERY: u64 = 64;

/// Who waits for a proposal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiter {
    /// A client, for the answer of the entry.
    Client(RequestId),
    /// A client that asked for a compaction and for the end of its clearing up.
    Physical(RequestId),
    /// A client whose lease is renewed once its checkpoint is cleared.
    Renew(RequestId, LeaseId),
    /// The automatic compaction at this revision.
    AutoCompaction(i64),
    /// Nobody, but the member notes that its alarm is through.
    Alarm,
    /// Nobody, but the member notes that it is published.
    Publish,
}

impl Waiter {
    pub(crate) fn client(&self) -> Option<RequestId> {
        match self {
            Waiter::Client(id) | Waiter::Physical(id) | Waiter::Renew(id, _) => Some(*id),
            Waiter::AutoCompaction(_) | Waiter::Alarm | Waiter::Publish => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) waiter: Waiter,
    pub(crate) started: Time,
    pub(crate) deadline: Time,
}

/// Proposals that are not applied yet.
///
/// Invariant: `slots[i]` belongs to the proposal `first + i`; the last one to `ids.peek() - 1`.
#[derive(Debug)]
pub(crate) struct Proposals {
    ids: ProposalIds,
    first: u64,
    slots: VecDeque<Option<Waiting>>,
    /// Encoded entries that raft has not taken yet.
    queued: Vec<Bytes>,
    queued_bytes: usize,
    /// True if something was queued that raft was not offered yet.
    is_fresh: bool,
    /// Occupied slots.
    count: usize,
}

impl Proposals {
    pub(crate) fn new(member: MemberId, boot: u64) -> Proposals {
        let ids = ProposalIds::new(member, boot);
        let first = ids.peek();
        Proposals {
            ids,
            first,
            slots: VecDeque::new(),
            queued: Vec::new(),
            queued_bytes: 0,
            is_fresh: false,
            count: 0,
        }
    }

    /// The id that the next proposal gets.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.peek()
    }

    /// The lowest id that somebody waits for, said in one entry of many: ids below need not be
    /// remembered. 0 says nothing.
    pub(crate) fn floor(&self) -> u64 {
        if self.ids.peek().is_multiple_of(FLOOR_EVERY) { self.first } else { 0 }
    }

    /// Takes a proposal whose entry carries `next_id`.
    pub(crate) fn push(&mut self, entry: Bytes, waiting: Waiting) {
        self.ids.next();
        self.is_fresh = true;
        self.queued_bytes += entry.len();
        self.queued.push(entry);
        self.slots.push_back(Some(waiting));
        self.count += 1;
    }

    /// Takes an entry that nobody waits for; it carries no id.
    pub(crate) fn push_unheard(&mut self, entry: Bytes) {
        self.is_fresh = true;
        self.queued_bytes += entry.len();
        self.queued.push(entry);
    }

    /// Number of proposals that somebody waits for.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bytes that raft has not taken yet.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// True if something was queued since raft was last offered anything.
    pub(crate) fn has_fresh(&self) -> bool {
        self.is_fresh
    }

    pub(crate) fn take_queued(&mut self) -> Vec<Bytes> {
        self.is_fresh = false;
        self.queued_bytes = 0;
        std::mem::take(&mut self.queued)
    }

    /// Raft did not take them: they are offered again.
    pub(crate) fn put_back(&mut self, entries: Vec<Bytes>) {
        assert!(self.queued.is_empty(), "new entries were queued meanwhile");
        self.queued_bytes = entries.iter().map(Bytes::len).sum();
        self.queued = entries;
    }

    /// Ends a proposal; `None` if it is not of this life, or nobody waits any more.
    pub(crate) fn take(&mut self, id: u64) -> Option<Waiting> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let waiting = self.slots.get_mut(at)?.take()?;
        self.count -= 1;
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        Some(waiting)
    }

    /// Drops the wait of a client that went away.
    pub(crate) fn cancel(&mut self, request: RequestId) -> bool {
        let is_it = |slot: &&mut Option<Waiting>| {
            slot.is_some_and(|waiting| waiting.waiter.client() == Some(request))
        };
        let found = self.slots.iter_mut().find(is_it);
        self.count -= usize::from(found.is_some());
        found.map(|slot| *slot = None).is_some()
    }

    /// Takes every wait for which `ends` is true.
    pub(crate) fn take_if(&mut self, ends: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let mut taken = Vec::new();
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(&ends) {
                taken.extend(slot.take());
            }
        }
        self.count -= taken.len();
        taken
    }
}
