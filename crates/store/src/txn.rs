//! Transactions: compares first, then all checks, then the operations (contract: Txn).

use crate::write::wanted;
use lease::Table;
use mvcc::{Keyspace, Prev, Stored, WriteTxn};
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, TxnOutcome};
use types::{DeleteOp, LeaseId, Op, OpError, PutOp, TxnOp};

/// Which branch runs, for a transaction and the ones nested in that branch, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Path {
    pub(crate) succeeded: bool,
    nested: Vec<Path>,
}

impl Path {
    /// Evaluates all compares against the state before the transaction.
    pub(crate) fn of(keyspace: &Keyspace, op: &TxnOp) -> Path {
        let succeeded = op.compare.iter().all(|compare| keyspace.compare(compare));
        let nested = branch(op, succeeded).iter().filter_map(|op| match op {
            Op::Txn(txn) => Some(Path::of(keyspace, txn)),
            _ => None,
        });
        Path { succeeded, nested: nested.collect() }
    }

    /// The parts of the nested transactions.
    pub(crate) fn nested(&self) -> impl Iterator<Item = &Path> {
        self.nested.iter()
    }
}

/// The operations that run.
pub(crate) fn branch(op: &TxnOp, succeeded: bool) -> &[Op] {
    if succeeded { &op.success } else { &op.failure }
}

/// Whether every operation that runs may run. Nothing is changed before this is known.
pub(crate) fn check(
    keyspace: &Keyspace,
    leases: &Table,
    op: &TxnOp,
    path: &Path,
) -> Result<(), OpError> {
    let mut nested = path.nested();
    for op in branch(op, path.succeeded) {
        match op {
            Op::Range(range) => keyspace.check_txn_revision(range.revision)?,
            Op::Put(put) => check_put(keyspace, leases, put)?,
            Op::Delete(_) => {}
            Op::Txn(txn) => {
                let path = nested.next().expect("a path has one part per nested transaction");
                check(keyspace, leases, txn, path)?;
            }
        }
    }
    Ok(())
}

/// Whether a put may run.
pub(crate) fn check_put(keyspace: &Keyspace, leases: &Table, op: &PutOp) -> Result<(), OpError> {
    if op.lease != LeaseId(0) && !leases.contains(op.lease) {
        return Err(OpError::LeaseNotFound);
    }
    if (op.ignore_value || op.ignore_lease) && keyspace.meta(&op.key).is_none() {
        return Err(OpError::KeyNotFound);
    }
    Ok(())
}

/// A checked transaction on its way: it runs until it has deleted as many keys as it may, and
/// goes on from there.
#[derive(Debug)]
pub(crate) struct Run {
    path: Path,
    pub(crate) over_quota: bool,
    /// The transaction itself and those nested in it, down to the one that runs.
    frames: Vec<Frame>,
    /// What the delete that was cut has come to.
    delete: Option<DeleteOutcome>,
}

/// How far one transaction has run: as many operations as have an outcome.
#[derive(Default, Debug)]
struct Frame {
    outcomes: Vec<OpOutcome>,
    /// Nested transactions that are through.
    nested: usize,
}

/// What one slice of a transaction may do.
struct Slice {
    prev: Prev,
    keys_left: usize,
}

impl Run {
    pub(crate) fn new(path: Path, over_quota: bool) -> Run {
        Run { path, over_quota, frames: Vec::new(), delete: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes up to `keys_max` keys and does all that comes before and between; `None` if more
    /// is left. `tells_prev`: watchers are told what was before.
    pub(crate) fn go(
        &mut self,
        txn: &mut WriteTxn<'_>,
        op: &TxnOp,
        tells_prev: bool,
        keys_max: usize,
    ) -> Option<TxnOutcome> {
        let path = std::mem::take(&mut self.path);
        let mut slice = Slice { prev: wanted(tells_prev), keys_left: keys_max };
        let outcome = self.level(txn, op, &path, 0, &mut slice);
        self.path = path;
        outcome
    }

    fn level(
        &mut self,
        txn: &mut WriteTxn<'_>,
        op: &TxnOp,
        path: &Path,
        depth: usize,
        slice: &mut Slice,
    ) -> Option<TxnOutcome> {
        if self.frames.len() == depth {
            self.frames.push(Frame::default());
        }
        let ops = branch(op, path.succeeded);
        while let Some(op) = ops.get(self.frames[depth].outcomes.len()) {
            let outcome = match op {
                Op::Range(range) => {
                    let read = txn.range(range).expect("the revision of a range was checked");
                    OpOutcome::Range(read)
                }
                Op::Put(op) => OpOutcome::Put(put(txn, op)),
                Op::Delete(op) => OpOutcome::Delete(self.delete(txn, op, slice)?),
                Op::Txn(op) => {
                    let path = &path.nested[self.frames[depth].nested];
                    let outcome = self.level(txn, op, path, depth + 1, slice)?;
                    self.frames[depth].nested += 1;
                    OpOutcome::Txn(outcome)
                }
            };
            self.frames[depth].outcomes.push(outcome);
        }
        let Frame { outcomes, .. } = self.frames.pop().expect("this level has a frame");
        Some(TxnOutcome { revision: txn.revision(), succeeded: path.succeeded, outcomes })
    }

    fn delete(
        &mut self,
        txn: &mut WriteTxn<'_>,
        op: &DeleteOp,
        slice: &mut Slice,
    ) -> Option<DeleteOutcome> {
        let mut outcome = self.delete.take().unwrap_or_default();
        let prev = if op.prev_kv { Prev::Wanted } else { slice.prev };
        let deleted = txn.delete_slice(&op.range, slice.keys_left, prev);
        slice.keys_left -= deleted.count;
        add_deleted(&mut outcome, op, deleted.prev, deleted.count);
        outcome.revision = txn.revision();
        if deleted.done {
            return Some(outcome);
        }
        self.delete = Some(outcome);
        None
    }
}

/// Adds to the outcome of a delete what a slice of it deleted.
pub(crate) fn add_deleted(
    outcome: &mut DeleteOutcome,
    op: &DeleteOp,
    prev: Vec<Stored>,
    count: usize,
) {
    outcome.deleted += i64::try_from(count).expect("keys fit in memory");
    if op.prev_kv {
        outcome.prev.extend(prev.into_iter().map(|prev| prev.item));
    }
}

/// Runs a checked put.
pub(crate) fn put(txn: &mut WriteTxn<'_>, op: &PutOp) -> PutOutcome {
    let before = if op.ignore_value || op.ignore_lease { txn.get(&op.key) } else { None };
    let lease = match &before {
        Some(before) if op.ignore_lease => before.meta.lease,
        _ => op.lease,
    };
    let prev = match &before {
        Some(before) if op.ignore_value => {
            let value = mvcc::kv::value(resident(before));
            txn.put(&op.key, &value, lease)
        }
        _ => txn.put(&op.key, &op.value, lease),
    };
    let prev = prev.filter(|_| op.prev_kv).map(|prev| prev.item);
    PutOutcome { revision: txn.revision(), prev }
}

/// The record of a version that `Store::needs` named if it was cold.
pub(crate) fn resident(stored: &Stored) -> &bytes::Bytes {
    match &stored.item {
        Item::Resident(record) => record,
        Item::Cold { revision, .. } => {
            unreachable!("the caller warms what needs names: {revision}")
        }
    }
}

/// Runs a transaction whose operations are all ranges, without changing anything.
pub(crate) fn read(
    keyspace: &Keyspace,
    leases: &Table,
    op: &TxnOp,
    path: &Path,
) -> Result<TxnOutcome, OpError> {
    check(keyspace, leases, op, path)?;
    let mut outcomes = Vec::new();
    for op in branch(op, path.succeeded) {
        let Op::Range(range) = op else { unreachable!("only ranges are read locally") };
        outcomes.push(OpOutcome::Range(keyspace.range(range)?));
    }
    Ok(TxnOutcome { revision: keyspace.revision(), succeeded: path.succeeded, outcomes })
}
