//! The states and the changes between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use types::OpError;

/// A key with its value and numbers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Kv {
    /// The key.
    pub key: Vec<u8>,
    /// Revision of its creation.
    pub create: i64,
    /// Revision of its last change.
    pub modified: i64,
    /// Changes since its creation, from 1.
    pub version: i64,
    /// Its value.
    pub value: Vec<u8>,
    /// Its lease; 0 if none.
    pub lease: i64,
}

/// One change of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Main revision.
    pub main: i64,
    /// Position among the changes of that revision, from 0.
    pub sub: i64,
    /// The key.
    pub key: Vec<u8>,
    /// What it became; `None` if it was deleted.
    pub kv: Option<Kv>,
    /// What it was before that main revision.
    pub prev: Option<Kv>,
}

/// All keys that exist. What two revisions have in common they share.
pub(crate) type State = BTreeMap<Arc<[u8]>, Arc<Kv>>;

/// The reference.
#[derive(Clone, Debug)]
pub struct Model {
    /// `states[r - 1]` is what exists at revision `r`.
    pub(crate) states: Vec<State>,
    pub(crate) changes: Vec<Change>,
    pub(crate) leases: BTreeSet<i64>,
    compacted: i64,
}

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// Nothing exists, at revision 1.
    pub fn new() -> Model {
        let states = vec![State::new()];
        Model { states, changes: Vec::new(), leases: BTreeSet::new(), compacted: -1 }
    }

    /// The current revision.
    pub fn revision(&self) -> i64 {
        i64::try_from(self.states.len()).expect("a test is short")
    }

    /// The revision of the last compaction; -1 before the first.
    pub fn compacted(&self) -> i64 {
        self.compacted
    }

    /// What exists at a revision.
    pub(crate) fn state(&self, revision: i64) -> &State {
        &self.states[usize::try_from(revision - 1).expect("revisions begin with 1")]
    }

    /// What exists now.
    pub fn current(&self) -> impl Iterator<Item = &Kv> {
        self.state(self.revision()).values().map(AsRef::as_ref)
    }

    /// Every change since the beginning, compacted or not.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What a key was at a revision.
    pub fn at(&self, key: &[u8], revision: i64) -> Option<&Kv> {
        self.state(revision).get(key).map(AsRef::as_ref)
    }

    /// The previous value that a watcher gets with an event: none if that state is compacted.
    pub fn prev_of(&self, change: &Change) -> Option<&Kv> {
        if change.main - 1 < self.compacted { None } else { self.at(&change.key, change.main - 1) }
    }

    /// Compacts at a revision.
    pub fn compact(&mut self, revision: i64) -> Result<(), OpError> {
        if revision <= self.compacted {
            return Err(OpError::Compacted);
        }
        if revision > self.revision() {
            return Err(OpError::FutureRevision);
        }
        self.compacted = revision;
        Ok(())
    }

    /// The changes that compaction keeps: those after it, and of each key the newest up to it,
    /// but no deletion before it.
    pub fn kept(&self) -> Vec<&Change> {
        let mut newest: BTreeMap<&[u8], (i64, i64)> = BTreeMap::new();
        for change in self.changes.iter().filter(|change| change.main <= self.compacted) {
            newest.insert(&change.key, (change.main, change.sub));
        }
        let is_kept = |change: &&Change| {
            if change.main > self.compacted {
                return true;
            }
            let is_newest = newest[&change.key[..]] == (change.main, change.sub);
            is_newest && (change.kv.is_some() || change.main == self.compacted)
        };
        self.changes.iter().filter(is_kept).collect()
    }

    /// What the quota counts: key, value and 256 bytes of each kept change.
    pub fn live_bytes(&self) -> i64 {
        let bytes = |change: &Change| {
            let value = change.kv.as_ref().map_or(0, |kv| kv.value.len());
            i64::try_from(change.key.len() + value + 256).expect("a test is short")
        };
        self.kept().into_iter().map(bytes).sum()
    }

    /// Grants a lease.
    pub fn grant(&mut self, lease: i64) -> Result<(), OpError> {
        if self.leases.insert(lease) { Ok(()) } else { Err(OpError::LeaseExists) }
    }

    /// Revokes a lease: its keys are deleted in one revision, in key order.
    pub fn revoke(&mut self, lease: i64) -> Result<(), OpError> {
        if !self.leases.remove(&lease) {
            return Err(OpError::LeaseNotFound);
        }
        let attached = self.attached(lease);
        let mut write = self.begin();
        for key in attached {
            write.delete(&key);
        }
        let (state, changes) = write.finish();
        self.commit(state, changes);
        Ok(())
    }

    /// Keys attached to a lease.
    pub fn attached(&self, lease: i64) -> Vec<Vec<u8>> {
        self.current().filter(|kv| kv.lease == lease).map(|kv| kv.key.clone()).collect()
    }

    pub(crate) fn begin(&self) -> Write {
        let before = self.state(self.revision()).clone();
        Write { main: self.revision() + 1, now: before.clone(), before, changes: Vec::new() }
    }

    pub(crate) fn commit(&mut self, state: State, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.states.push(state);
            self.changes.extend(changes);
        }
    }
}

/// A state being changed.
pub(crate) struct Write {
    pub(crate) main: i64,
    before: State,
    pub(crate) now: State,
    pub(crate) changes: Vec<Change>,
}

impl Write {
    /// The revision that the transaction's own reads see.
    pub(crate) fn revision(&self) -> i64 {
        if self.changes.is_empty() { self.main - 1 } else { self.main }
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8], lease: i64) {
        let (create, version) = match self.now.get(key) {
            Some(old) => (old.create, old.version + 1),
            None => (self.main, 1),
        };
        let kv = Kv {
            key: key.to_vec(),
            create,
            modified: self.main,
            version,
            value: value.to_vec(),
            lease,
        };
        self.now.insert(key.into(), Arc::new(kv.clone()));
        self.note(key, Some(kv));
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.now.remove(key);
        self.note(key, None);
    }

    fn note(&mut self, key: &[u8], kv: Option<Kv>) {
        let sub = i64::try_from(self.changes.len()).expect("a test is short");
        let prev = self.before.get(key).map(|kv| kv.as_ref().clone());
        self.changes.push(Change { main: self.main, sub, key: key.to_vec(), kv, prev });
    }

    pub(crate) fn finish(self) -> (State, Vec<Change>) {
        (self.now, self.changes)
    }
}
