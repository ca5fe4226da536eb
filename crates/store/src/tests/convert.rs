//! Operations as requests on the wire, and answers as the reference has them.

use bytes::Bytes;
use model::{Answer, DeleteAnswer, Kv, PutAnswer, RangeAnswer, TxnAnswer};
use prost::Message as _;
use proto::{etcdserverpb as pb, mvccpb};
use types::op::{CompareResult, CompareTarget, SortOrder, SortTarget};
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, RangeOutcome, TxnOutcome};
use types::{Compare, DeleteOp, Op, PutOp, RangeOp, TxnOp};

pub(crate) fn put(op: &PutOp) -> pb::PutRequest {
    pb::PutRequest {
        key: op.key.clone(),
        value: op.value.clone(),
        lease: op.lease.0,
        prev_kv: op.prev_kv,
        ignore_value: op.ignore_value,
        ignore_lease: op.ignore_lease,
    }
}

pub(crate) fn delete(op: &DeleteOp) -> pb::DeleteRangeRequest {
    let (key, range_end) = (op.range.key.clone(), op.range.end.clone());
    pb::DeleteRangeRequest { key, range_end, prev_kv: op.prev_kv }
}

fn range(op: &RangeOp) -> pb::RangeRequest {
    let sort_order = match op.sort_order {
        SortOrder::None | SortOrder::Unknown => 0,
        SortOrder::Ascend => 1,
        SortOrder::Descend => 2,
    };
    let sort_target = match op.sort_target {
        SortTarget::Key | SortTarget::Unknown => 0,
        SortTarget::Version => 1,
        SortTarget::Create => 2,
        SortTarget::Mod => 3,
        SortTarget::Value => 4,
    };
    pb::RangeRequest {
        key: op.range.key.clone(),
        range_end: op.range.end.clone(),
        limit: op.limit,
        revision: op.revision,
        sort_order,
        sort_target,
        keys_only: op.keys_only,
        count_only: op.count_only,
        ..Default::default()
    }
}

fn compare(compare: &Compare) -> pb::Compare {
    use pb::compare::TargetUnion as T;
    let (target, target_union) = match &compare.target {
        CompareTarget::Version(n) => (0, T::Version(*n)),
        CompareTarget::Create(n) => (1, T::CreateRevision(*n)),
        CompareTarget::Mod(n) => (2, T::ModRevision(*n)),
        CompareTarget::Value(value) => (3, T::Value(value.clone())),
        CompareTarget::Lease(n) => (4, T::Lease(*n)),
        CompareTarget::Unknown => (9, T::Version(0)),
    };
    let result = match compare.result {
        CompareResult::Equal => 0,
        CompareResult::Greater => 1,
        CompareResult::Less => 2,
        CompareResult::NotEqual => 3,
        CompareResult::Unknown => 9,
    };
    pb::Compare {
        result,
        target,
        key: compare.range.key.clone(),
        range_end: compare.range.end.clone(),
        target_union: Some(target_union),
    }
}

pub(crate) fn txn(op: &TxnOp) -> pb::TxnRequest {
    use pb::request_op::Request as R;
    let ops = |ops: &[Op]| {
        let request = |op: &Op| match op {
            Op::Range(op) => R::RequestRange(range(op)),
            Op::Put(op) => R::RequestPut(put(op)),
            Op::Delete(op) => R::RequestDeleteRange(delete(op)),
            Op::Txn(op) => R::RequestTxn(txn(op)),
        };
        ops.iter().map(|op| pb::RequestOp { request: Some(request(op)) }).collect()
    };
    pb::TxnRequest {
        compare: op.compare.iter().map(compare).collect(),
        success: ops(&op.success),
        failure: ops(&op.failure),
    }
}

/// Answers as the reference gives them; cold items are read with the reader.
pub(crate) struct Answers<'a>(pub(crate) &'a backend::Reader);

impl Answers<'_> {
    fn kv(&self, item: &Item) -> Kv {
        let bytes: Bytes = match item {
            Item::Resident(kv) => kv.clone(),
            Item::Cold { revision, len } => {
                let record = self.0.get(*revision).unwrap().expect("cold records are stored");
                assert_eq!(record.kv.len(), usize::try_from(*len).unwrap());
                record.kv
            }
        };
        let kv = mvccpb::KeyValue::decode(bytes).unwrap();
        Kv {
            key: kv.key.to_vec(),
            create: kv.create_revision,
            modified: kv.mod_revision,
            version: kv.version,
            value: kv.value.to_vec(),
            lease: kv.lease,
        }
    }

    pub(crate) fn put(&self, outcome: &PutOutcome) -> PutAnswer {
        let prev = outcome.prev.as_ref().map(|item| self.kv(item));
        PutAnswer { revision: outcome.revision, prev }
    }

    pub(crate) fn delete(&self, outcome: &DeleteOutcome) -> DeleteAnswer {
        DeleteAnswer {
            revision: outcome.revision,
            deleted: outcome.deleted,
            prev: outcome.prev.iter().map(|item| self.kv(item)).collect(),
        }
    }

    pub(crate) fn range(&self, outcome: &RangeOutcome) -> RangeAnswer {
        RangeAnswer {
            kvs: outcome.items.iter().map(|item| self.kv(item)).collect(),
            more: outcome.more,
            count: outcome.count,
            revision: outcome.revision,
        }
    }

    /// A nested transaction has an empty header on the wire, and in the reference.
    pub(crate) fn txn(&self, outcome: &TxnOutcome) -> TxnAnswer {
        let answer = |outcome: &OpOutcome| match outcome {
            OpOutcome::Range(outcome) => Answer::Range(self.range(outcome)),
            OpOutcome::Put(outcome) => Answer::Put(self.put(outcome)),
            OpOutcome::Delete(outcome) => Answer::Delete(self.delete(outcome)),
            OpOutcome::Txn(outcome) => Answer::Txn(TxnAnswer { revision: 0, ..self.txn(outcome) }),
        };
        TxnAnswer {
            revision: outcome.revision,
            succeeded: outcome.succeeded,
            answers: outcome.outcomes.iter().map(answer).collect(),
        }
    }
}
