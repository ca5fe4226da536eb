//! What must be true: the log, replayed entry by entry on the reference.

use crate::invariant;
use crate::report::Violation;
use crate::state::{Expected, State};
use bytes::Bytes;
use proto::log::{self, Kind};
use proto::request::{self, Request};
use std::collections::{BTreeMap, BTreeSet};
use types::{MemberId, Term, Time};

/// An entry that was applied.
#[derive(Clone, Debug)]
pub(crate) struct AppliedEntry {
    pub(crate) kind: Kind,
    pub(crate) body: Bytes,
    /// The first two bytes of its id: which member proposed it.
    proposer: u64,
    /// What it asks, if it does anything: neither fenced nor applied before.
    pub(crate) request: Option<Request>,
    pub(crate) expected: Expected,
    /// A client was told its outcome.
    pub(crate) is_claimed: bool,
}

/// Where a lease begins and ends in the log.
#[derive(Clone, Copy, Debug)]
struct Span {
    granted: usize,
    revoked: Option<usize>,
}

/// The log as members have applied it, and the reference after the last entry that any of them
/// has.
#[derive(Default, Debug)]
pub(crate) struct Oracle {
    /// Entry `i` of the log at `i - 1`.
    log: Vec<(Term, Bytes)>,
    /// As many; `None` for entries that ask for nothing.
    applied: Vec<Option<AppliedEntry>>,
    /// The reference after all of them.
    pub(crate) state: State,
    spans: BTreeMap<i64, Span>,
    /// When the last successful grant or renewal of a lease was sent.
    pub(crate) renewed: BTreeMap<i64, Time>,
    /// Highest index that a client saw the effect of.
    pub(crate) observed: usize,
    /// Ids of proposals that were applied.
    seen: BTreeSet<u64>,
    /// By proposer, the id below which ids count as seen.
    floors: BTreeMap<u64, u64>,
    /// Bodies of writes with a value of their own: each is applied once.
    bodies: BTreeSet<Bytes>,
    /// The chain of hashes after an entry, as the first member had it.
    chains: BTreeMap<usize, u32>,
    /// Who led in a term.
    leaders: BTreeMap<u64, usize>,
}

impl Oracle {
    /// Index of the last entry that any member has applied.
    pub(crate) fn index(&self) -> usize {
        self.applied.len()
    }

    /// An entry of the log, by index.
    pub(crate) fn entry(&self, index: usize) -> Option<&(Term, Bytes)> {
        self.log.get(index.checked_sub(1)?)
    }

    /// What an entry did, by index.
    pub(crate) fn applied(&self, index: usize) -> Option<&AppliedEntry> {
        self.applied.get(index.checked_sub(1)?)?.as_ref()
    }

    /// A member applied this entry, the next one of its own: all agree on it. Returns the lease
    /// with its TTL if the entry is new and an expiry.
    pub(crate) fn apply(
        &mut self,
        index: usize,
        term: Term,
        data: &Bytes,
    ) -> Result<Option<(i64, i64)>, Violation> {
        if let Some(known) = self.entry(index) {
            if *known != (term, data.clone()) {
                let text = format!(
                    "entry {index} was applied with term {}, and elsewhere with term {term}",
                    known.0
                );
                return Err(Violation::new("state_machine_safety", text));
            }
            return Ok(None);
        }
        assert_eq!(index, self.log.len() + 1, "entries are applied in order");
        self.log.push((term, data.clone()));
        if data.is_empty() {
            self.applied.push(None);
            return Ok(None);
        }
        let entry = log::Entry::decode(data).expect("the member wrote it");
        let request = request::decode(entry.kind, &entry.body).expect("the member wrote it");
        let is_fenced = entry.fence_term != 0 && entry.fence_term != term.0;
        let does = self.admits(entry.id, entry.floor) && !is_fenced;
        let ttl = match &request {
            Request::LeaseRevoke(id) => self.state.leases.get(&id.0).copied(),
            _ => None,
        };
        let expected = if does { self.state.expect(&request) } else { Expected::Other };
        if does && matches!(entry.kind, Kind::Put | Kind::Txn) {
            invariant::applied_once::check(&mut self.bodies, index, &entry.body)?;
        }
        let mut expired = None;
        match (&request, &expected) {
            (_, Expected::Grant(Ok((id, _)))) => {
                self.spans.insert(*id, Span { granted: index, revoked: None });
            }
            (Request::LeaseRevoke(id), Expected::Revoke(Ok(()))) => {
                if let Some(span) = self.spans.get_mut(&id.0) {
                    span.revoked = Some(index);
                }
                expired = ttl.filter(|_| entry.id == 0).map(|ttl| (id.0, ttl));
            }
            _ => {}
        }
        let (kind, body, request) = (entry.kind, entry.body, does.then_some(request));
        let proposer = entry.id >> 48;
        let applied = AppliedEntry { kind, body, proposer, request, expected, is_claimed: false };
        self.applied.push(Some(applied));
        Ok(expired)
    }

    /// The store's window of ids, without its bounds.
    fn admits(&mut self, id: u64, floor: u64) -> bool {
        if id == 0 {
            return true;
        }
        let known = self.floors.entry(id >> 48).or_default();
        if id < *known || !self.seen.insert(id) {
            return false;
        }
        if *known < floor && floor <= id {
            *known = floor;
        }
        true
    }

    /// A member has the chain of hashes `chain` after entry `index`.
    pub(crate) fn chain(&mut self, index: usize, chain: u32) -> Result<(), Violation> {
        let first = *self.chains.entry(index).or_insert(chain);
        if first != chain {
            let text = format!("after entry {index} the hash is {chain:08x}, not {first:08x}");
            return Err(Violation::new("state_machine_safety", text));
        }
        Ok(())
    }

    /// A member leads in a term: it is the only one (INV-5).
    pub(crate) fn leads(&mut self, who: usize, term: u64) -> Result<(), Violation> {
        let first = *self.leaders.entry(term).or_insert(who);
        if first != who {
            let text = format!("members {first} and {who} both lead in term {term}");
            return Err(Violation::new("election_safety", text));
        }
        Ok(())
    }

    /// Applied entries after `floor` up to `upto` that nobody claimed, of this kind, which `member`
    /// proposed.
    pub(crate) fn candidates(
        &mut self,
        floor: usize,
        upto: usize,
        kind: Kind,
        member: MemberId,
    ) -> impl Iterator<Item = &mut AppliedEntry> {
        let proposer = member.0 & 0xffff;
        let applied = self.applied[..upto].iter_mut().skip(floor).flatten();
        applied.filter(move |entry| {
            entry.kind == kind && entry.proposer == proposer && !entry.is_claimed
        })
    }

    /// A client saw the state after this entry.
    pub(crate) fn observe(&mut self, index: usize) {
        self.observed = self.observed.max(index);
    }

    /// True if a lease was there after some entry from `floor` on.
    pub(crate) fn lease_was_there(&self, id: i64, floor: usize) -> bool {
        let span = self.spans.get(&id);
        span.is_some_and(|span| span.revoked.is_none_or(|revoked| floor < revoked))
    }

    /// True if a lease was not there after some entry from `floor` on.
    pub(crate) fn lease_was_missing(&self, id: i64, floor: usize) -> bool {
        let span = self.spans.get(&id);
        span.is_none_or(|span| span.revoked.is_some() || floor < span.granted)
    }
}
