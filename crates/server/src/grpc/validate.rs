//! Shape checks of key-value requests, first failing wins (contract §2.3).

use super::intervals;
use super::status::{Code, Status};
use super::txn::{Txn, TxnOp};
use proto::etcdserverpb as pb;
use types::limits::QUOTA_RECORD_OVERHEAD_BYTES;
use types::op::{SortOrder, SortTarget};
use types::{KeyRange, OpError, RangeOp};

/// Checks a range.
pub fn range(request: &pb::RangeRequest) -> Result<(), OpError> {
    if request.key.is_empty() {
        return Err(OpError::EmptyKey);
    }
    if sort_order(request.sort_order).is_none() || sort_target(request.sort_target).is_none() {
        return Err(OpError::InvalidSortOption);
    }
    Ok(())
}

/// Checks a streamed range.
pub fn range_stream(request: &pb::RangeRequest) -> Result<(), Status> {
    range(request)?;
    let refuse = |what: &str| {
        Err(Status::new(Code::Unimplemented, format!("RangeStream does not support {what}")))
    };
    let by_key = sort_target(request.sort_target) == Some(SortTarget::Key);
    let default_order = match sort_order(request.sort_order) {
        Some(SortOrder::None) => true,
        Some(SortOrder::Ascend) => by_key,
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
pub fn put(request: &pb::PutRequest) -> Result<(), OpError> {
    if request.key.is_empty() {
        return Err(OpError::EmptyKey);
    }
    if request.ignore_value && !request.value.is_empty() {
        return Err(OpError::ValueProvided);
    }
    if request.ignore_lease && request.lease != 0 {
        return Err(OpError::LeaseProvided);
    }
    Ok(())
}

/// Checks a delete.
pub fn delete(request: &pb::DeleteRangeRequest) -> Result<(), OpError> {
    if request.key.is_empty() { Err(OpError::EmptyKey) } else { Ok(()) }
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
    if request.compare.iter().any(|compare| compare.key.is_empty()) {
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
pub fn put_cost(request: &pb::PutRequest) -> i64 {
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

/// The checked form of a range.
pub fn range_op(request: &pb::RangeRequest) -> RangeOp {
    RangeOp {
        range: KeyRange::new(request.key.clone(), request.range_end.clone()),
        limit: request.limit,
        revision: request.revision,
        sort_order: sort_order(request.sort_order).unwrap_or_default(),
        sort_target: sort_target(request.sort_target).unwrap_or_default(),
        serializable: request.serializable,
        keys_only: request.keys_only,
        count_only: request.count_only,
        min_mod_revision: request.min_mod_revision,
        max_mod_revision: request.max_mod_revision,
        min_create_revision: request.min_create_revision,
        max_create_revision: request.max_create_revision,
    }
}

fn sort_order(number: i32) -> Option<SortOrder> {
    match number {
        0 => Some(SortOrder::None),
        1 => Some(SortOrder::Ascend),
        2 => Some(SortOrder::Descend),
        _ => None,
    }
}

fn sort_target(number: i32) -> Option<SortTarget> {
    match number {
        0 => Some(SortTarget::Key),
        1 => Some(SortTarget::Version),
        2 => Some(SortTarget::Create),
        3 => Some(SortTarget::Mod),
        4 => Some(SortTarget::Value),
        _ => None,
    }
}

/// The checked form of a transaction that only reads.
pub fn read_txn_op(request: &Txn) -> types::TxnOp {
    let ranges = |ops: &[TxnOp]| {
        ops.iter()
            .filter_map(|op| match op {
                TxnOp::Range(request) => Some(types::Op::Range(range_op(request))),
                _ => None,
            })
            .collect()
    };
    types::TxnOp {
        compare: request.compare.iter().map(compare_op).collect(),
        success: ranges(&request.success),
        failure: ranges(&request.failure),
    }
}

/// The checked form of a compare: an unset or mismatched union is zero or empty.
pub fn compare_op(request: &pb::Compare) -> types::Compare {
    use pb::compare::TargetUnion;
    use types::{CompareResult, CompareTarget};
    let union = request.target_union.as_ref();
    let target = match request.target {
        0 => CompareTarget::Version(match union {
            Some(TargetUnion::Version(version)) => *version,
            _ => 0,
        }),
        1 => CompareTarget::Create(match union {
            Some(TargetUnion::CreateRevision(revision)) => *revision,
            _ => 0,
        }),
        2 => CompareTarget::Mod(match union {
            Some(TargetUnion::ModRevision(revision)) => *revision,
            _ => 0,
        }),
        3 => CompareTarget::Value(match union {
            Some(TargetUnion::Value(value)) => value.clone(),
            _ => bytes::Bytes::new(),
        }),
        4 => CompareTarget::Lease(match union {
            Some(TargetUnion::Lease(lease)) => *lease,
            _ => 0,
        }),
        _ => CompareTarget::Unknown,
    };
    let result = match request.result {
        0 => CompareResult::Equal,
        1 => CompareResult::Greater,
        2 => CompareResult::Less,
        3 => CompareResult::NotEqual,
        _ => CompareResult::Unknown,
    };
    let range = KeyRange::new(request.key.clone(), request.range_end.clone());
    types::Compare { range, result, target }
}

#[cfg(test)]
mod tests;
