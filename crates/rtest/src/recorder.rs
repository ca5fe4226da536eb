//! What was acknowledged, and what may have happened without an answer.
//!
//! Each key belongs to one writer, which has one request under way at a time: so a key's state is
//! the last acknowledged one, or any later attempt whose outcome is unknown.

use std::collections::{BTreeMap, BTreeSet};

/// State of a key: its value and the revision that wrote it; `None` if it does not exist.
pub type State = Option<(String, i64)>;

/// What is known of one key.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// The last acknowledged state.
    pub known: State,
    /// Values (or a deletion) that were sent later and never answered.
    pub maybe: Vec<Option<String>>,
}

/// One acknowledged change, for the comparison with watches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// Revision of the answer.
    pub revision: i64,
    /// The key.
    pub key: String,
    /// The new value; `None` for a deletion.
    pub value: Option<String>,
}

/// Everything that clients were told.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Keys by name.
    pub keys: BTreeMap<String, Key>,
    /// Acknowledged changes in the order of their answers.
    pub changes: Vec<Change>,
    /// Leases that were granted and not revoked.
    pub leases: BTreeSet<i64>,
    /// Leases whose grant or revocation was not answered.
    pub leases_maybe: BTreeSet<i64>,
    /// The greatest revision in any answer.
    pub revision: i64,
    /// Acknowledged requests.
    pub acknowledged: u64,
    /// Requests without an answer.
    pub unknown: u64,
    /// What contradicts the record.
    pub violations: Vec<String>,
    /// A request without an answer may be carried out later: a cluster keeps it and proposes it
    /// again, while a single process takes it into its grave.
    pub outlives: bool,
}

impl Recorder {
    /// A change was acknowledged.
    pub fn acknowledge(&mut self, change: Change) {
        self.acknowledged += 1;
        self.revision = self.revision.max(change.revision);
        let key = self.keys.entry(change.key.clone()).or_default();
        if let Some((_, revision)) = &key.known
            && change.revision <= *revision
        {
            self.violations.push(format!(
                "{} was answered with revision {} after {revision}",
                change.key, change.revision
            ));
        }
        key.known = change.value.clone().map(|value| (value, change.revision));
        key.maybe.clear();
        self.changes.push(change);
    }

    /// A change was sent and not answered.
    pub fn lose(&mut self, key: &str, value: Option<String>) {
        self.unknown += 1;
        self.keys.entry(key.to_string()).or_default().maybe.push(value);
    }

    /// Compares what is served with the record, and takes what is served as the new record: what
    /// was unknown is settled by it.
    pub fn settle(&mut self, served: &BTreeMap<String, (String, i64)>, revision: i64) {
        if revision < self.revision {
            self.violations.push(format!(
                "revision {revision} is served after {} was answered",
                self.revision
            ));
        }
        self.revision = self.revision.max(revision);
        for (name, key) in &mut self.keys {
            let found = served.get(name).cloned();
            let as_known = found == key.known;
            let as_attempt = key
                .maybe
                .iter()
                .any(|value| *value == found.as_ref().map(|(value, _)| value.clone()));
            if !as_known && !as_attempt {
                self.violations.push(format!(
                    "{name} is {found:?}; acknowledged was {:?}, unanswered {:?}",
                    key.known, key.maybe
                ));
            }
            key.known = found;
            if !self.outlives || !as_known {
                key.maybe.clear();
            }
        }
        for name in served.keys() {
            if !self.keys.contains_key(name) {
                self.violations.push(format!("{name} is served and nobody wrote it"));
            }
        }
    }

    /// Compares the leases that are served with the record.
    pub fn settle_leases(&mut self, served: &BTreeSet<i64>) {
        for lease in &self.leases {
            if !served.contains(lease) && !self.leases_maybe.contains(lease) {
                self.violations.push(format!("lease {lease:016x} was granted and is gone"));
            }
        }
        for lease in served {
            if !self.leases.contains(lease) && !self.leases_maybe.contains(lease) {
                self.violations.push(format!("lease {lease:016x} is served and was revoked"));
            }
        }
        if self.outlives {
            return;
        }
        self.leases = served.clone();
        self.leases_maybe.clear();
    }
}

#[cfg(test)]
mod tests;
