//! Proposals on their way: who waits for which, and what has to be offered to the leader.

use crate::ids::ProposalIds;
use crate::request::RequestId;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
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

/// A proposal that is not applied yet.
#[derive(Debug)]
struct Slot {
    waiting: Waiting,
    entry: Bytes,
    /// It changes the membership.
    is_conf: bool,
    /// When it was last offered.
    offered: Time,
}

/// What is offered to the leader.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) id: u64,
    pub(crate) entry: Bytes,
    /// It changes the membership.
    pub(crate) is_conf: bool,
}

/// Proposals that are not applied yet. They are kept until they are, or until nobody waits any
/// more: a leader that is gone took some of them along, and its successor is offered all of them
/// under the ids they have. The store applies each id once.
///
/// Invariant: `slots[i]` belongs to the proposal `first + i`; the last one to `ids.peek() - 1`.
#[derive(Debug)]
pub(crate) struct Proposals {
    ids: ProposalIds,
    first: u64,
    slots: VecDeque<Option<Slot>>,
    /// What is to be offered, in order.
    queued: VecDeque<u64>,
    /// Entries of this leader that nobody waits for.
    unheard: Vec<Bytes>,
    queued_bytes: usize,
    /// True if something was queued that was not offered yet.
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
            queued: VecDeque::new(),
            unheard: Vec::new(),
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
        self.queue(entry, waiting, false);
    }

    /// Takes a membership change that carries `next_id`.
    pub(crate) fn push_conf(&mut self, entry: Bytes, waiting: Waiting) {
        self.queue(entry, waiting, true);
    }

    fn queue(&mut self, entry: Bytes, waiting: Waiting, is_conf: bool) {
        let id = self.ids.next();
        self.is_fresh = true;
        self.queued_bytes += entry.len();
        self.queued.push_back(id);
        self.slots.push_back(Some(Slot { waiting, entry, is_conf, offered: waiting.started }));
        self.count += 1;
    }

    /// Takes an entry that nobody waits for; it carries no id, and only this leader proposes it.
    pub(crate) fn push_unheard(&mut self, entry: Bytes) {
        self.is_fresh = true;
        self.queued_bytes += entry.len();
        self.unheard.push(entry);
    }

    /// Number of proposals that somebody waits for.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bytes that were not offered yet.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// True if something was queued since anything was last offered.
    pub(crate) fn has_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Nothing can be offered now.
    pub(crate) fn rest(&mut self) {
        self.is_fresh = false;
    }

    /// Takes what is to be offered, with the ids.
    pub(crate) fn take_queued(&mut self, now: Time) -> Vec<Offer> {
        self.is_fresh = false;
        let unheard: usize = self.unheard.iter().map(Bytes::len).sum();
        self.queued_bytes = unheard;
        let first = self.first;
        let mut taken = Vec::with_capacity(self.queued.len());
        for id in self.queued.drain(..) {
            let at = id.checked_sub(first).and_then(|at| usize::try_from(at).ok());
            // One that ended meanwhile is not offered any more.
            if let Some(Some(slot)) = at.and_then(|at| self.slots.get_mut(at)) {
                slot.offered = now;
                let (entry, is_conf) = (slot.entry.clone(), slot.is_conf);
                taken.push(Offer { id, entry, is_conf });
            }
        }
        taken
    }

    /// Takes the entries that nobody waits for.
    pub(crate) fn take_unheard(&mut self) -> Vec<Bytes> {
        let taken = std::mem::take(&mut self.unheard);
        self.queued_bytes -= taken.iter().map(Bytes::len).sum::<usize>();
        taken
    }

    /// The leader did not take them: they are offered again.
    pub(crate) fn put_back(&mut self, own: &[Offer], unheard: Vec<Bytes>) {
        self.queued.extend(own.iter().map(|offer| offer.id));
        let own = own.iter().map(|offer| offer.entry.len()).sum::<usize>();
        self.queued_bytes += own + unheard.iter().map(Bytes::len).sum::<usize>();
        self.unheard.extend(unheard);
    }

    /// Leadership moved: everything is offered again, and what only the leader of before could
    /// propose is dropped.
    pub(crate) fn offer_again(&mut self) {
        self.unheard.clear();
        self.queue_if(|_| true);
    }

    /// A planted bug: what is offered again is not told from what was offered before.
    pub(crate) fn rename(&mut self) {
        for at in 0..self.slots.len() {
            let Some(mut slot) = self.slots[at].take() else { continue };
            if let Ok(mut entry) = proto::log::Entry::decode(&slot.entry) {
                entry.id = self.ids.next();
                slot.entry = entry.encode();
                self.slots.push_back(Some(slot));
            }
        }
    }

    /// What was offered and is not applied after `patience` may have been lost on its way.
    pub(crate) fn offer_late(&mut self, now: Time, patience: Duration) {
        if self.queued.is_empty() && 0 < self.count {
            self.queue_if(|slot| patience <= now.since(slot.offered));
        }
    }

    fn queue_if(&mut self, is_due: impl Fn(&Slot) -> bool) {
        self.queued.clear();
        self.queued_bytes = self.unheard.iter().map(Bytes::len).sum();
        for (id, slot) in (self.first..).zip(&self.slots) {
            if let Some(slot) = slot
                && is_due(slot)
            {
                self.queued.push_back(id);
                self.queued_bytes += slot.entry.len();
            }
        }
        self.is_fresh = !self.queued.is_empty();
    }

    /// Ends a proposal; `None` if it is not of this life, or nobody waits any more.
    pub(crate) fn take(&mut self, id: u64) -> Option<Waiting> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let slot = self.slots.get_mut(at)?.take()?;
        self.count -= 1;
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        Some(slot.waiting)
    }

    /// Drops the wait of a client that went away.
    pub(crate) fn cancel(&mut self, request: RequestId) -> bool {
        let is_it = |slot: &&mut Option<Slot>| {
            slot.as_ref().is_some_and(|slot| slot.waiting.waiter.client() == Some(request))
        };
        let found = self.slots.iter_mut().find(is_it);
        self.count -= usize::from(found.is_some());
        found.map(|slot| *slot = None).is_some()
    }

    /// Takes every wait for which `ends` is true.
    pub(crate) fn take_if(&mut self, ends: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let mut taken = Vec::new();
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|slot| ends(&slot.waiting)) {
                taken.extend(slot.take().map(|slot| slot.waiting));
            }
        }
        self.count -= taken.len();
        taken
    }
}
