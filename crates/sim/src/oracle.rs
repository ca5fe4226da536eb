//! What must be true: the log, replayed entry by entry on the reference.

use crate::report::Violation;
use bytes::Bytes;
use model::Model;
use proto::log::{self, Kind};
use proto::request::{self, Request};
use std::collections::{BTreeMap, BTreeSet};
use types::{OpError, Term, Time};

/// What an entry must have come to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expected {
    Put(Result<model::PutAnswer, OpError>),
    Delete(model::DeleteAnswer),
    Txn(Result<model::TxnAnswer, OpError>),
    Compact(Result<(), OpError>),
    Grant(Result<(i64, i64), OpError>),
    Revoke(Result<(), OpError>),
    /// Nothing that a client sees.
    Other,
}

/// An entry that was applied.
#[derive(Clone, Debug)]
pub(crate) struct AppliedEntry {
    pub(crate) kind: Kind,
    pub(crate) body: Bytes,
    pub(crate) expected: Expected,
    /// A client was told its outcome.
    pub(crate) is_claimed: bool,
}

/// The log as it was given to the disk, and the reference at the applied index.
#[derive(Default, Debug)]
pub(crate) struct Oracle {
    /// Entry `i` of the log at `i - 1`.
    log: Vec<(Term, Bytes)>,
    /// Where batches ended: the log is cut at one of these, never within a batch.
    ends: BTreeSet<usize>,
    /// As many as are applied; `None` for entries that ask for nothing.
    applied: Vec<Option<AppliedEntry>>,
    pub(crate) model: Model,
    /// Leases with their TTL.
    pub(crate) leases: BTreeMap<i64, i64>,
    /// When the last successful grant or renewal of a lease was sent.
    pub(crate) renewed: BTreeMap<i64, Time>,
    /// Highest index that a client saw the effect of.
    pub(crate) observed: usize,
    /// Highest revision in a header that a client saw.
    pub(crate) revision_seen: i64,
    alarms: BTreeSet<(u64, i32)>,
}

impl Oracle {
    /// Index of the last entry that was applied.
    pub(crate) fn index(&self) -> usize {
        self.applied.len()
    }

    /// An entry was given to the disk.
    pub(crate) fn append(&mut self, index: u64, term: Term, data: Bytes) {
        let at = usize::try_from(index).expect("a small log") - 1;
        assert!(at <= self.log.len(), "entry {index} leaves a gap in the log");
        self.log.truncate(at);
        self.log.push((term, data));
    }

    /// The batch that was given to the disk ends here.
    pub(crate) fn batch_ends(&mut self) {
        let end = self.log.len();
        self.ends.retain(|known| *known < end);
        self.ends.insert(end);
    }

    /// The log was read from the disk: its entries after `base`. What a client saw must be there;
    /// what is missing at the end never happened.
    pub(crate) fn recovered(&mut self, base: u64, entries: &[wal::Entry]) -> Result<(), Violation> {
        let violation = |text: String| Err(Violation::new("acked_writes", text));
        let last = base + u64::try_from(entries.len()).expect("a small log");
        let last = usize::try_from(last).expect("a small log");
        if last < self.observed {
            let observed = self.observed;
            return violation(format!("entry {observed} was observed, the log ends at {last}"));
        }
        for entry in entries {
            let at = usize::try_from(entry.index.0).expect("a small log") - 1;
            let known = self.log.get(at).map(|(term, data)| (*term, data.clone()));
            if known != Some((entry.term, entry.data.clone())) {
                return violation(format!("entry {} is not what was appended", entry.index));
            }
        }
        if 0 < last && !self.ends.contains(&last) {
            return violation(format!("the log ends at {last}, within a batch"));
        }
        self.log.truncate(last);
        self.ends.retain(|end| *end <= last);
        Ok(())
    }

    /// The state starts anew as of entry `index`.
    pub(crate) fn restart(&mut self, index: u64) -> Result<(), Violation> {
        self.applied.clear();
        self.model = Model::new();
        self.leases.clear();
        self.alarms.clear();
        let index = usize::try_from(index).expect("a small log");
        while self.applied.len() < index {
            self.apply_next()?;
        }
        Ok(())
    }

    /// Entries up to `index` are applied; returns the leases that expired, with their TTL.
    pub(crate) fn advance(&mut self, index: u64) -> Result<Vec<(i64, i64)>, Violation> {
        let index = usize::try_from(index).expect("a small log");
        let mut expired = Vec::new();
        while self.applied.len() < index {
            expired.extend(self.apply_next()?);
        }
        Ok(expired)
    }

    /// Applies the next entry; returns the lease with its TTL if it was an expiry.
    fn apply_next(&mut self) -> Result<Option<(i64, i64)>, Violation> {
        let at = self.applied.len();
        let Some((term, data)) = self.log.get(at).cloned() else {
            let text = format!("entry {} was applied but never written", at + 1);
            return Err(Violation::new("durable_at_ack", text));
        };
        if data.is_empty() {
            self.applied.push(None);
            return Ok(None);
        }
        let entry = log::Entry::decode(&data).expect("the member wrote it");
        let request = request::decode(entry.kind, &entry.body).expect("the member wrote it");
        let ttl = match &request {
            Request::LeaseRevoke(id) => self.leases.get(&id.0).copied(),
            _ => None,
        };
        let is_fenced = entry.fence_term != 0 && entry.fence_term != term.0;
        let expected = if is_fenced { Expected::Other } else { self.expect(&request) };
        let expired = match (&request, &expected) {
            (Request::LeaseRevoke(id), Expected::Revoke(Ok(()))) if entry.id == 0 => {
                ttl.map(|ttl| (id.0, ttl))
            }
            _ => None,
        };
        let (kind, body) = (entry.kind, entry.body);
        self.applied.push(Some(AppliedEntry { kind, body, expected, is_claimed: false }));
        Ok(expired)
    }

    fn expect(&mut self, request: &Request) -> Expected {
        match request {
            Request::Put(op) => Expected::Put(self.model.put(op)),
            Request::Delete(op) => Expected::Delete(self.model.delete(op)),
            Request::Txn(op) => Expected::Txn(self.model.txn(op)),
            Request::Compact { revision, .. } => Expected::Compact(self.model.compact(*revision)),
            Request::LeaseGrant { id, ttl } => {
                let granted = self.model.grant(id.0);
                if granted.is_ok() {
                    self.leases.insert(id.0, *ttl);
                }
                Expected::Grant(granted.map(|()| (id.0, *ttl)))
            }
            Request::LeaseRevoke(id) => {
                self.leases.remove(&id.0);
                Expected::Revoke(self.model.revoke(id.0))
            }
            Request::Alarm { action, member, kind } => {
                match action {
                    1 => self.alarms.insert((member.0, *kind)),
                    _ => self.alarms.remove(&(member.0, *kind)),
                };
                Expected::Other
            }
            _ => Expected::Other,
        }
    }

    /// Applied entries after `floor` that nobody claimed, of this kind.
    pub(crate) fn candidates(
        &mut self,
        floor: usize,
        kind: Kind,
    ) -> impl Iterator<Item = &mut AppliedEntry> {
        let applied = self.applied.iter_mut().skip(floor).flatten();
        applied.filter(move |entry| entry.kind == kind && !entry.is_claimed)
    }

    /// A client saw the state as it is.
    pub(crate) fn observe(&mut self) {
        self.observed = self.observed.max(self.applied.len());
    }
}
