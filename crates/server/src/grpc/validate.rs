//! Shape checks of key-value requests, first failing wins (contract §2.3).

use super::intervals;
use super::status::{Code, Status};
use super::txn::{Txn, TxnOp};
use types::limits::QUOTA_RECORD_OVERHEAD_BYTES;
use types::op::{SortOrder, SortTarget};
use types::{DeleteOp, LeaseId, OpError, PutOp, RangeOp};

/// Checks a range.
pub fn range(request: &RangeOp) -> Result<(), OpError> {
    if request.range.key.is_empty() {
        return Err(OpError::EmptyKey);
    }
    let known_order = request.sort_order != SortOrder::Unknown;
    if !known_order || request.sort_target == SortTarget::Unknown {
        return Err(OpError::InvalidSortOption);
    }
    Ok(())
}

/// Checks a streamed range.
pub fn range_stream(request: &RangeOp) -> Result<(), Status> {
    range(request)?;
    let refuse = |what: &str| {
        Err(Status::new(Code::Unimplemented, format!("RangeStream does not support {what}")))
    };
    let default_order = match request.sort_order {
        SortOrder::None => true,
        SortOrder::Ascend => request.sort_target == SortTarget::Key,
        _ => false,
    };
    if !default_order {
        return refuse("custom sort orders");
    }
    let filters = [
        request.min_mod_revision,
        request.max_mod_revision,
        request.min_create_revision,
        request.max_create_revision,
    ];
    if filters.iter().any(|filter| *filter != 0) {
        return refuse("revision filters");
    }
    Ok(())
}

/// Checks a put.
pub fn put(request: &PutOp) -> Result<(), OpError> {
    if request.key.is_empty() {
        return Err(OpError::EmptyKey);
    }
    if request.ignore_value && !request.value.is_empty() {
        return Err(OpError::ValueProvided);
    }
    if request.ignore_lease && request.lease != LeaseId(0) {
        return Err(OpError::LeaseProvided);
    }
    Ok(())
}

/// Checks a delete.
pub fn delete(request: &DeleteOp) -> Result<(), OpError> {
    if request.range.key.is_empty() { Err(OpError::EmptyKey) } else { Ok(()) }
}

/// Checks a transaction: its shape first, then that no key is changed twice.
pub fn txn(request: &Txn, ops_max: usize) -> Result<(), OpError> {
    txn_shape(request, ops_max)?;
    intervals::check(&request.success)?;
    intervals::check(&request.failure)?;
    Ok(())
}

/// A nested transaction has what its parent's largest list left of the budget.
fn txn_shape(request: &Txn, ops_max: usize) -> Result<(), OpError> {
    let largest = request.compare.len().max(request.success.len()).max(request.failure.len());
    if ops_max < largest {
        return Err(OpError::TooManyOps);
    }
    if request.compare.iter().any(|compare| compare.range.key.is_empty()) {
        return Err(OpError::EmptyKey);
    }
    for op in request.success.iter().chain(&request.failure) {
        match op {
            TxnOp::Range(request) => range(request)?,
            TxnOp::Put(request) => put(request)?,
            TxnOp::Delete(request) => delete(request)?,
            TxnOp::Txn(request) => txn_shape(request, ops_max - largest)?,
            TxnOp::TooDeep => return Err(OpError::TooManyOps),
            TxnOp::Empty => return Err(OpError::KeyNotFound),
        }
    }
    Ok(())
}

/// What the quota counts for a put.
pub fn put_cost(request: &PutOp) -> i64 {
    let bytes = request.key.len() + request.value.len();
    QUOTA_RECORD_OVERHEAD_BYTES + i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

/// What the quota counts for a transaction: its dearer branch.
pub fn txn_cost(request: &Txn) -> i64 {
    let branch = |ops: &[TxnOp]| -> i64 {
        ops.iter()
            .map(|op| match op {
                TxnOp::Put(request) => put_cost(request),
                TxnOp::Txn(request) => txn_cost(request),
                _ => 0,
            })
            .sum()
    };
    branch(&request.success).max(branch(&request.failure))
}

/// True if both branches hold nothing but ranges.
pub fn is_read_only(request: &Txn) -> bool {
    let reads = |op: &TxnOp| matches!(op, TxnOp::Range(_));
    request.success.iter().all(reads) && request.failure.iter().all(reads)
}

/// The checked form of a transaction that only reads.
pub fn read_txn_op(request: Txn) -> types::TxnOp {
    let ranges = |ops: Vec<TxnOp>| {
        ops.into_iter()
            .filter_map(|op| match op {
                TxnOp::Range(request) => Some(types::Op::Range(request)),
                _ => None,
            })
            .collect()
    };
    types::TxnOp {
        compare: request.compare,
        success: ranges(request.success),
        failure: ranges(request.failure),
    }
}

#[cfg(test)]
mod tests;
