//! What the store has done since it was opened, counted as etcd's metrics count it.

use crate::txn::{Path, branch};
use types::{DeleteOp, Op, PutOp, TxnOp};

/// Totals since the store was opened; entries that are replayed from the log count again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Puts.
    pub puts: u64,
    /// Deletes, each of one interval; a revoked lease deletes each of its keys.
    pub deletes: u64,
    /// Intervals read, those among them that compares and previous values need.
    pub ranges: u64,
    /// Transactions of the keyspace that did more than one of these.
    pub txns: u64,
    /// Bytes of keys and values put.
    pub put_bytes: u64,
    /// Versions that compactions dropped.
    pub versions_dropped: u64,
}

/// What one transaction of the keyspace does.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    puts: u64,
    deletes: u64,
    ranges: u64,
    put_bytes: u64,
}

impl Tally {
    pub(crate) fn ranges(count: usize) -> Tally {
        Tally { ranges: count as u64, ..Tally::default() }
    }

    pub(crate) fn deletes(count: usize) -> Tally {
        Tally { deletes: count as u64, ..Tally::default() }
    }

    pub(crate) fn put(&mut self, op: &PutOp) {
        self.puts += 1;
        self.put_bytes += (op.key.len() + op.value.len()) as u64;
        self.ranges += u64::from(op.prev_kv || op.ignore_value || op.ignore_lease);
    }

    pub(crate) fn delete(&mut self, op: &DeleteOp) {
        self.deletes += 1;
        self.ranges += u64::from(op.prev_kv);
    }

    /// The operations that run, nested ones included.
    pub(crate) fn txn(&mut self, op: &TxnOp, path: &Path) {
        let mut nested = path.nested();
        for op in branch(op, path.succeeded) {
            match op {
                Op::Range(_) => self.ranges += 1,
                Op::Put(op) => self.put(op),
                Op::Delete(op) => self.delete(op),
                Op::Txn(op) => {
                    self.txn(op, nested.next().expect("a path has one part per nested txn"));
                }
            }
        }
    }
}

/// Compares of a transaction and of those nested in the branch that runs.
pub(crate) fn compares(op: &TxnOp, path: &Path) -> usize {
    let mut nested = path.nested();
    let inner = branch(op, path.succeeded).iter().filter_map(|op| match op {
        Op::Txn(op) => nested.next().map(|path| compares(op, path)),
        _ => None,
    });
    op.compare.len() + inner.sum::<usize>()
}

impl Counters {
    /// A transaction of the keyspace ended.
    pub(crate) fn add(&mut self, tally: Tally) {
        self.puts += tally.puts;
        self.deletes += tally.deletes;
        self.ranges += tally.ranges;
        self.put_bytes += tally.put_bytes;
        self.txns += u64::from(1 < tally.puts + tally.deletes + tally.ranges);
    }
}
