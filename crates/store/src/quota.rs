//! What a write costs by the quota (contract §2.3).

use types::limits::QUOTA_RECORD_OVERHEAD_BYTES;
use types::{Op, PutOp, TxnOp};

/// Cost of a put.
pub fn put_cost(op: &PutOp) -> i64 {
    let bytes = op.key.len() + op.value.len();
    QUOTA_RECORD_OVERHEAD_BYTES + i64::try_from(bytes).expect("a request fits in memory")
}

/// Cost of a transaction: of the dearer branch, nested ones followed.
pub fn txn_cost(op: &TxnOp) -> i64 {
    branch_cost(&op.success).max(branch_cost(&op.failure))
}

fn branch_cost(ops: &[Op]) -> i64 {
    let cost = |op: &Op| match op {
        Op::Put(put) => put_cost(put),
        Op::Txn(txn) => txn_cost(txn),
        Op::Range(_) | Op::Delete(_) => 0,
    };
    ops.iter().map(cost).sum()
}
