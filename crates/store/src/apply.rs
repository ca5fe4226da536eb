//! Applying one entry, whole or slice by slice.

use crate::alarm::AlarmKind;
use crate::chain;
use crate::cluster::{DOWNGRADE_KEY, VERSION_KEY};
use crate::entry::Entry;
use crate::outcome::{Applied, LeaseFact, Outcome};
use crate::quota;
use crate::store::Store;
use crate::write::Work;
use proto::request::Request;
use types::{Index, OpError, Term};

/// An entry of which only slices were applied so far: its changes are in the open write
/// transaction of the keyspace, which goes on serving the revision before.
#[derive(Debug)]
pub(crate) struct Suspended {
    entry: Entry,
    work: Work,
}

/// What an entry comes to, before the bookkeeping.
pub(crate) struct Done {
    pub(crate) result: Result<Outcome, OpError>,
    pub(crate) facts: Vec<LeaseFact>,
    pub(crate) over_quota: bool,
}

impl Done {
    pub(crate) fn ok(outcome: Outcome) -> Done {
        Done { result: Ok(outcome), facts: Vec::new(), over_quota: false }
    }

    pub(crate) fn err(error: OpError) -> Done {
        Done { result: Err(error), facts: Vec::new(), over_quota: false }
    }
}

impl Store {
    /// Applies the entry that follows the last one. `needs` named nothing for it.
    pub fn apply(&mut self, index: Index, term: Term, entry: &Entry) -> Applied {
        let mut applied = self.apply_slice(index, term, entry, usize::MAX);
        loop {
            match applied {
                Some(applied) => return applied,
                None => applied = self.resume(usize::MAX),
            }
        }
    }

    /// As `apply`, changing at most `keys_max` keys if the entry can be cut; `None` if it has to
    /// go on with `resume`. Until then reads see the state before, and nothing else is applied.
    pub fn apply_slice(
        &mut self,
        index: Index,
        term: Term,
        entry: &Entry,
        keys_max: usize,
    ) -> Option<Applied> {
        assert!(self.suspended.is_none(), "an entry is applied before the next one begins");
        assert_eq!(index, self.applied.next(), "entries are applied in order");
        assert!(self.term <= term, "terms do not go back");
        (self.applied, self.term) = (index, term);
        if !self.window.admit(entry.id, entry.floor) {
            return Some(self.finish(entry, Done::ok(Outcome::Duplicate)));
        }
        if entry.fence != Term(0) && entry.fence != term {
            return Some(self.finish(entry, Done::ok(Outcome::Fenced)));
        }
        let Some(request) = &entry.request else {
            return Some(self.finish(entry, Done::ok(Outcome::Noop)));
        };
        if let Err(error) = self.gate(request) {
            return Some(self.finish(entry, Done::err(error)));
        }
        let step = match request {
            Request::Delete(op) => self.delete(op, keys_max),
            Request::Txn(op) => self.txn(op, keys_max),
            Request::LeaseRevoke(id) => self.revoke(entry, *id, keys_max),
            _ => Ok(self.run(entry, request)),
        };
        match step {
            Ok(done) => Some(self.finish(entry, done)),
            Err(work) => {
                self.suspended = Some(Suspended { entry: entry.clone(), work });
                None
            }
        }
    }

    /// Goes on with an entry that was cut.
    pub fn resume(&mut self, keys_max: usize) -> Option<Applied> {
        let Suspended { entry, work } = self.suspended.take().expect("an entry was cut");
        let step = match (&entry.request, work) {
            (Some(Request::Delete(op)), Work::Delete(outcome)) => {
                self.delete_slice(op, outcome, keys_max)
            }
            (Some(Request::Txn(op)), Work::Txn(run)) => self.txn_slice(op, run, keys_max),
            (Some(Request::LeaseRevoke(id)), Work::Revoke(keys)) => {
                self.revoke_slice(*id, keys, keys_max)
            }
            (request, work) => unreachable!("{work:?} is no work of {request:?}"),
        };
        match step {
            Ok(done) => Some(self.finish(&entry, done)),
            Err(work) => {
                self.suspended = Some(Suspended { entry, work });
                None
            }
        }
    }

    /// True while an entry is cut: nothing may be flushed or applied in between.
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    fn finish(&mut self, entry: &Entry, done: Done) -> Applied {
        let revision = self.revision();
        let tag = u8::from(done.result.is_err());
        self.chain = chain::next(self.chain, &entry.data, revision, tag);
        self.unflushed.entries += 1;
        self.cool();
        let Done { result, facts, over_quota } = done;
        Applied { id: entry.id, result, facts, over_quota, revision }
    }

    /// What alarms forbid.
    fn gate(&self, request: &Request) -> Result<(), OpError> {
        let corrupt = || self.alarms.is_on(AlarmKind::Corrupt);
        let no_space = || self.alarms.is_on(AlarmKind::NoSpace);
        let (is_gated, adds) = match request {
            Request::Put(_) | Request::LeaseGrant { .. } => (true, true),
            Request::Txn(op) => (true, no_space() && 0 < quota::txn_cost(op)),
            Request::Delete(_) | Request::Compact { .. } | Request::LeaseRevoke(_) => (true, false),
            _ => (false, false),
        };
        if is_gated && corrupt() {
            return Err(OpError::Corrupt);
        }
        if adds && no_space() {
            return Err(OpError::NoSpace);
        }
        Ok(())
    }

    fn run(&mut self, entry: &Entry, request: &Request) -> Done {
        match request {
            Request::Put(op) => self.put(op),
            Request::Compact { revision, .. } => self.compact(*revision),
            Request::LeaseGrant { id, ttl } => self.lease_grant(*id, *ttl),
            Request::Checkpoint(checkpoints) => self.checkpoint(entry, checkpoints),
            Request::Alarm { action, member, kind } => self.alarm(*action, *member, *kind),
            Request::ClusterVersion(version) => {
                self.cluster.version = Some(version.clone());
                self.set_cluster_text(VERSION_KEY, Some(version));
                Done::ok(Outcome::Cluster)
            }
            Request::Downgrade { enabled, version } => {
                let target = enabled.then(|| version.clone());
                self.set_cluster_text(DOWNGRADE_KEY, target.as_deref());
                self.cluster.downgrade = target;
                Done::ok(Outcome::Cluster)
            }
            Request::Conf { member, action } => {
                match self.change_members(*member, action, entry.id == 0) {
                    Ok(outcome) => Done::ok(Outcome::Conf(*member, outcome)),
                    Err(error) => Done::err(error),
                }
            }
            Request::MemberAttr { member, .. } if self.is_removed(*member) => {
                Done::ok(Outcome::Cluster)
            }
            Request::MemberAttr { member, name, client_urls } => {
                let mut row = self.cluster.members.get(member).cloned().unwrap_or_default();
                row.id = *member;
                row.name.clone_from(name);
                row.client_urls.clone_from(client_urls);
                self.set_member(row);
                Done::ok(Outcome::Cluster)
            }
            Request::Delete(_) | Request::Txn(_) | Request::LeaseRevoke(_) => {
                unreachable!("what can be cut is not run whole")
            }
        }
    }
}
