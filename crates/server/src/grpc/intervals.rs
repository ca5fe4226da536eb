//! No key may be changed twice in one branch of a transaction (contract §2.3).
//!
//! Puts are a set, deletes a list of intervals sorted by their first key. As in etcd, an end of
//! one zero byte is taken as it stands here: an interval that ends before it begins hits nothing,
//! so a delete of everything from a key on escapes the check.

use super::txn::TxnOp;
use bytes::Bytes;
use std::collections::BTreeSet;
use types::OpError;

/// The changes of a branch and of what is nested in it.
#[derive(Default)]
struct Changes {
    puts: BTreeSet<Bytes>,
    deletes: Deletes,
}

/// Delete intervals; sorted and merged before the first question.
#[derive(Default)]
struct Deletes {
    /// First key and exclusive end.
    intervals: Vec<(Bytes, Bytes)>,
    merged: bool,
}

impl Deletes {
    fn insert(&mut self, key: &Bytes, end: &Bytes) {
        let end = if end.is_empty() { point_end(key) } else { end.clone() };
        if end <= *key {
            return;
        }
        self.intervals.push((key.clone(), end));
        self.merged = false;
    }

    fn contains(&mut self, key: &Bytes) -> bool {
        self.merge();
        let after = self.intervals.partition_point(|(first, _)| first <= key);
        after.checked_sub(1).is_some_and(|at| key < &self.intervals[at].1)
    }

    /// Sorts, and joins what overlaps, so that at most one interval can hold a key.
    fn merge(&mut self) {
        if std::mem::replace(&mut self.merged, true) {
            return;
        }
        self.intervals.sort();
        let mut merged: Vec<(Bytes, Bytes)> = Vec::with_capacity(self.intervals.len());
        for (first, end) in self.intervals.drain(..) {
            match merged.last_mut() {
                Some((_, last_end)) if first < *last_end => {
                    if *last_end < end {
                        *last_end = end;
                    }
                }
                _ => merged.push((first, end)),
            }
        }
        self.intervals = merged;
    }

    fn append(&mut self, other: Deletes) {
        self.intervals.extend(other.intervals);
        self.merged = false;
    }
}

/// The key after `key`: the end of an interval that holds only `key`.
fn point_end(key: &Bytes) -> Bytes {
    let mut end = Vec::with_capacity(key.len() + 1);
    end.extend_from_slice(key);
    end.push(0);
    end.into()
}

/// Refuses a branch that changes a key twice.
pub fn check(ops: &[TxnOp]) -> Result<(), OpError> {
    if ops.len() < 2 && !matches!(ops, [TxnOp::Txn(_)]) {
        return Ok(());
    }
    collect(ops).map(drop)
}

fn collect(ops: &[TxnOp]) -> Result<Changes, OpError> {
    let mut changes = Changes::default();
    for op in ops {
        if let TxnOp::Delete(request) = op {
            changes.deletes.insert(&request.range.key, &request.range.end);
        }
    }
    for op in ops {
        if let TxnOp::Txn(nested) = op {
            let then = collect(&nested.success)?;
            let other = collect(&nested.failure)?;
            changes.nest(then, other)?;
        }
    }
    for op in ops {
        let TxnOp::Put(request) = op else { continue };
        let deleted = changes.deletes.contains(&request.key);
        if deleted || !changes.puts.insert(request.key.clone()) {
            return Err(OpError::DuplicateKey);
        }
    }
    Ok(changes)
}

impl Changes {
    /// Takes in a nested transaction. Its branches exclude each other, so they may put the same
    /// key; its deletes meet the puts of this level and of later siblings, as in etcd.
    fn nest(&mut self, then: Changes, other: Changes) -> Result<(), OpError> {
        for key in &then.puts {
            if self.puts.contains(key) || self.deletes.contains(key) {
                return Err(OpError::DuplicateKey);
            }
        }
        for key in &other.puts {
            let elsewhere = self.puts.contains(key) && !then.puts.contains(key);
            if elsewhere || self.deletes.contains(key) {
                return Err(OpError::DuplicateKey);
            }
        }
        self.puts.extend(then.puts);
        self.puts.extend(other.puts);
        self.deletes.append(then.deletes);
        self.deletes.append(other.deletes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
