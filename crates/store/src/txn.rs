//! Transactions: compares first, then all checks, then the operations (contract: Txn).

use lease::Table;
use mvcc::{Keyspace, Stored, WriteTxn};
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, TxnOutcome};
use types::{DeleteOp, LeaseId, Op, OpError, PutOp, TxnOp};

/// Which branch runs, for a transaction and the ones nested in that branch, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
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

/// Runs the operations of a checked transaction.
pub(crate) fn run(txn: &mut WriteTxn<'_>, op: &TxnOp, path: &Path) -> TxnOutcome {
    let mut nested = path.nested();
    let mut outcomes = Vec::new();
    for op in branch(op, path.succeeded) {
        outcomes.push(match op {
            Op::Range(range) => {
                let read = txn.range(range).expect("the revision of a range was checked");
                OpOutcome::Range(read)
            }
            Op::Put(op) => OpOutcome::Put(put(txn, op)),
            Op::Delete(op) => OpOutcome::Delete(delete(txn, op)),
            Op::Txn(op) => {
                let path = nested.next().expect("a path has one part per nested transaction");
                OpOutcome::Txn(run(txn, op, path))
            }
        });
    }
    TxnOutcome { revision: txn.revision(), succeeded: path.succeeded, outcomes }
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

/// Runs a delete.
pub(crate) fn delete(txn: &mut WriteTxn<'_>, op: &DeleteOp) -> DeleteOutcome {
    let deleted = txn.delete_range(&op.range);
    let mut outcome = DeleteOutcome {
        revision: txn.revision(),
        deleted: i64::try_from(deleted.len()).expect("keys fit in memory"),
        prev: Vec::new(),
    };
    if op.prev_kv {
        outcome.prev = deleted.into_iter().map(|deleted| deleted.prev.item).collect();
    }
    outcome
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
