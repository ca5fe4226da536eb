//! Writes and transactions (contract: Put and DeleteRange, Txn).

use crate::kv::{Kv, Model, State, Write};
use crate::range::{RangeAnswer, pick};
use std::cmp::Ordering;
use types::op::{DeleteOp, PutOp};
use types::{Compare, CompareResult, CompareTarget, Op, OpError, RangeOp, TxnOp};

/// What a put answers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PutAnswer {
    /// Revision of the header.
    pub revision: i64,
    /// The key before, if asked for.
    pub prev: Option<Kv>,
}

/// What a delete answers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DeleteAnswer {
    /// Revision of the header.
    pub revision: i64,
    /// Keys deleted.
    pub deleted: i64,
    /// The keys before, if asked for.
    pub prev: Vec<Kv>,
}

/// What a transaction answers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TxnAnswer {
    /// Revision of the header; 0 in a nested transaction, whose header is empty.
    pub revision: i64,
    /// Which branch ran.
    pub succeeded: bool,
    /// One per operation of that branch.
    pub answers: Vec<Answer>,
}

/// What an operation in a transaction answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Of a range.
    Range(RangeAnswer),
    /// Of a put.
    Put(PutAnswer),
    /// Of a delete.
    Delete(DeleteAnswer),
    /// Of a nested transaction.
    Txn(TxnAnswer),
}

/// Which branch a transaction takes, and its nested ones in the order of that branch.
struct Path {
    succeeded: bool,
    nested: Vec<Path>,
}

impl Model {
    /// Puts a key.
    pub fn put(&mut self, op: &PutOp) -> Result<PutAnswer, OpError> {
        self.check_put(op)?;
        let mut write = self.begin();
        let answer = put(&mut write, op);
        let (state, changes) = write.finish();
        self.commit(state, changes);
        Ok(answer)
    }

    /// Deletes an interval.
    pub fn delete(&mut self, op: &DeleteOp) -> DeleteAnswer {
        let mut write = self.begin();
        let answer = delete(&mut write, op);
        let (state, changes) = write.finish();
        self.commit(state, changes);
        answer
    }

    /// Runs a transaction.
    pub fn txn(&mut self, op: &TxnOp) -> Result<TxnAnswer, OpError> {
        let path = self.path(op);
        self.check(op, &path)?;
        let mut write = self.begin();
        let mut answer = self.run(op, &path, &mut write)?;
        answer.revision = write.revision();
        let (state, changes) = write.finish();
        self.commit(state, changes);
        Ok(answer)
    }

    /// True if every key of the interval satisfies the compare.
    pub fn compare(&self, compare: &Compare) -> bool {
        let before: &State = self.state(self.revision());
        let kvs = pick(before, &compare.range);
        if kvs.is_empty() {
            let is_value = matches!(compare.target, CompareTarget::Value(_));
            return !is_value && holds(compare, &Kv::default());
        }
        kvs.iter().all(|kv| holds(compare, kv))
    }

    /// All compares look at the state before the transaction, nested ones too.
    fn path(&self, op: &TxnOp) -> Path {
        let succeeded = op.compare.iter().all(|compare| self.compare(compare));
        let nested = branch(op, succeeded).iter().filter_map(|op| match op {
            Op::Txn(txn) => Some(self.path(txn)),
            _ => None,
        });
        Path { succeeded, nested: nested.collect() }
    }

    fn check(&self, op: &TxnOp, path: &Path) -> Result<(), OpError> {
        let mut nested = path.nested.iter();
        for op in branch(op, path.succeeded) {
            match op {
                Op::Range(range) => self.check_range(range)?,
                Op::Put(put) => self.check_put(put)?,
                Op::Delete(_) => {}
                Op::Txn(txn) => self.check(txn, nested.next().expect("a path for each"))?,
            }
        }
        Ok(())
    }

    fn check_range(&self, op: &RangeOp) -> Result<(), OpError> {
        if op.revision == 0 {
            Ok(())
        } else if op.revision > self.revision() {
            Err(OpError::FutureRevision)
        } else if op.revision < self.compacted() {
            Err(OpError::Compacted)
        } else {
            Ok(())
        }
    }

    fn check_put(&self, op: &PutOp) -> Result<(), OpError> {
        if op.lease.0 != 0 && !self.leases.contains(&op.lease.0) {
            return Err(OpError::LeaseNotFound);
        }
        let exists = self.at(&op.key, self.revision()).is_some();
        if (op.ignore_value || op.ignore_lease) && !exists {
            return Err(OpError::KeyNotFound);
        }
        Ok(())
    }

    fn run(&self, op: &TxnOp, path: &Path, write: &mut Write) -> Result<TxnAnswer, OpError> {
        let mut nested = path.nested.iter();
        let mut answers = Vec::new();
        for op in branch(op, path.succeeded) {
            answers.push(match op {
                Op::Range(op) => {
                    let newest = write.revision();
                    Answer::Range(self.range_in(op, &write.now, newest)?)
                }
                Op::Put(op) => Answer::Put(put(write, op)),
                Op::Delete(op) => Answer::Delete(delete(write, op)),
                Op::Txn(op) => {
                    let path = nested.next().expect("a path for each");
                    Answer::Txn(self.run(op, path, write)?)
                }
            });
        }
        Ok(TxnAnswer { revision: 0, succeeded: path.succeeded, answers })
    }
}

fn branch(op: &TxnOp, succeeded: bool) -> &[Op] {
    if succeeded { &op.success } else { &op.failure }
}

fn put(write: &mut Write, op: &PutOp) -> PutAnswer {
    let old = write.now.get(&op.key[..]).map(|kv| kv.as_ref().clone());
    let kept = old.clone().unwrap_or_default();
    let value = if op.ignore_value { &kept.value[..] } else { &op.value[..] };
    let lease = if op.ignore_lease { kept.lease } else { op.lease.0 };
    write.put(&op.key, value, lease);
    PutAnswer { revision: write.main, prev: old.filter(|_| op.prev_kv) }
}

fn delete(write: &mut Write, op: &DeleteOp) -> DeleteAnswer {
    let hits = pick(&write.now, &op.range);
    for kv in &hits {
        write.delete(&kv.key);
    }
    DeleteAnswer {
        revision: write.revision(),
        deleted: i64::try_from(hits.len()).expect("a test is short"),
        prev: if op.prev_kv { hits } else { Vec::new() },
    }
}

fn holds(compare: &Compare, kv: &Kv) -> bool {
    let order = match &compare.target {
        CompareTarget::Version(given) => kv.version.cmp(given),
        CompareTarget::Create(given) => kv.create.cmp(given),
        CompareTarget::Mod(given) => kv.modified.cmp(given),
        CompareTarget::Lease(given) => kv.lease.cmp(given),
        CompareTarget::Value(given) => kv.value[..].cmp(&given[..]),
        CompareTarget::Unknown => Ordering::Equal,
    };
    match compare.result {
        CompareResult::Equal => order == Ordering::Equal,
        CompareResult::NotEqual => order != Ordering::Equal,
        CompareResult::Greater => order == Ordering::Greater,
        CompareResult::Less => order == Ordering::Less,
        CompareResult::Unknown => true,
    }
}
