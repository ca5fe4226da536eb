//! Requests read by hand against prost, and how deep they may nest.

use crate::etcdserverpb as pb;
use crate::wire::{self, Error};
use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;
use types::op::{CompareResult, CompareTarget, SortOrder, SortTarget};
use types::{Compare, DeleteOp, KeyRange, LeaseId, Op, PutOp, RangeOp, TxnOp, limits};

fn key() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..6).prop_map(Bytes::from)
}

prop_compose! {
    fn put()(key in key(), value in key(), lease in any::<i64>(), flags in any::<[bool; 3]>())
        -> pb::PutRequest {
        let [prev_kv, ignore_value, ignore_lease] = flags;
        pb::PutRequest { key, value, lease, prev_kv, ignore_value, ignore_lease }
    }
}

prop_compose! {
    fn delete()(key in key(), range_end in key(), prev_kv in any::<bool>())
        -> pb::DeleteRangeRequest {
        pb::DeleteRangeRequest { key, range_end, prev_kv }
    }
}

prop_compose! {
    fn range()(
        key in key(), range_end in key(), numbers in any::<[i64; 6]>(),
        sort_order in -1..4_i32, sort_target in -1..6_i32, flags in any::<[bool; 3]>(),
    ) -> pb::RangeRequest {
        let [limit, revision, min_mod, max_mod, min_create, max_create] = numbers;
        let [serializable, keys_only, count_only] = flags;
        pb::RangeRequest {
            key, range_end, limit, revision, sort_order, sort_target, serializable, keys_only,
            count_only, min_mod_revision: min_mod, max_mod_revision: max_mod,
            min_create_revision: min_create, max_create_revision: max_create,
        }
    }
}

fn compare() -> impl Strategy<Value = pb::Compare> {
    use pb::compare::TargetUnion;
    let union = prop_oneof![
        Just(None),
        any::<i64>().prop_map(|n| Some(TargetUnion::Version(n))),
        any::<i64>().prop_map(|n| Some(TargetUnion::CreateRevision(n))),
        any::<i64>().prop_map(|n| Some(TargetUnion::ModRevision(n))),
        key().prop_map(|value| Some(TargetUnion::Value(value))),
        any::<i64>().prop_map(|n| Some(TargetUnion::Lease(n))),
    ];
    (-1..5_i32, -1..6_i32, key(), key(), union).prop_map(
        |(result, target, key, range_end, target_union)| pb::Compare {
            result,
            target,
            key,
            range_end,
            target_union,
        },
    )
}

fn txn() -> impl Strategy<Value = pb::TxnRequest> {
    use pb::request_op::Request;
    let leaf = prop_oneof![
        put().prop_map(Request::RequestPut),
        delete().prop_map(Request::RequestDeleteRange),
        range().prop_map(Request::RequestRange),
    ];
    let op = leaf.prop_recursive(3, 12, 3, |inner| {
        let ops = || prop::collection::vec(inner.clone(), 0..3);
        (prop::collection::vec(compare(), 0..2), ops(), ops()).prop_map(
            |(compare, success, failure)| Request::RequestTxn(of(compare, success, failure)),
        )
    });
    let ops = || prop::collection::vec(op.clone(), 0..4);
    (prop::collection::vec(compare(), 0..3), ops(), ops())
        .prop_map(|(compare, success, failure)| of(compare, success, failure))
}

fn of(
    compare: Vec<pb::Compare>,
    success: Vec<pb::request_op::Request>,
    failure: Vec<pb::request_op::Request>,
) -> pb::TxnRequest {
    let ops = |list: Vec<pb::request_op::Request>| {
        list.into_iter().map(|op| pb::RequestOp { request: Some(op) }).collect()
    };
    pb::TxnRequest { compare, success: ops(success), failure: ops(failure) }
}

fn expected_range(m: pb::RangeRequest) -> RangeOp {
    let nth = |n: i32| usize::try_from(n).unwrap_or(usize::MAX);
    RangeOp {
        range: KeyRange::new(m.key, m.range_end),
        limit: m.limit,
        revision: m.revision,
        sort_order: SortOrder::ALL.get(nth(m.sort_order)).copied().unwrap_or(SortOrder::Unknown),
        sort_target: SortTarget::ALL
            .get(nth(m.sort_target))
            .copied()
            .unwrap_or(SortTarget::Unknown),
        serializable: m.serializable,
        keys_only: m.keys_only,
        count_only: m.count_only,
        min_mod_revision: m.min_mod_revision,
        max_mod_revision: m.max_mod_revision,
        min_create_revision: m.min_create_revision,
        max_create_revision: m.max_create_revision,
    }
}

fn expected_put(m: pb::PutRequest) -> PutOp {
    PutOp {
        key: m.key,
        value: m.value,
        lease: LeaseId(m.lease),
        prev_kv: m.prev_kv,
        ignore_value: m.ignore_value,
        ignore_lease: m.ignore_lease,
    }
}

fn expected_delete(m: pb::DeleteRangeRequest) -> DeleteOp {
    DeleteOp { range: KeyRange::new(m.key, m.range_end), prev_kv: m.prev_kv }
}

fn expected_compare(m: pb::Compare) -> Compare {
    use pb::compare::TargetUnion as T;
    let target = match (m.target, m.target_union) {
        (0, Some(T::Version(n))) => CompareTarget::Version(n),
        (0, _) => CompareTarget::Version(0),
        (1, Some(T::CreateRevision(n))) => CompareTarget::Create(n),
        (1, _) => CompareTarget::Create(0),
        (2, Some(T::ModRevision(n))) => CompareTarget::Mod(n),
        (2, _) => CompareTarget::Mod(0),
        (3, Some(T::Value(value))) => CompareTarget::Value(value),
        (3, _) => CompareTarget::Value(Bytes::new()),
        (4, Some(T::Lease(n))) => CompareTarget::Lease(n),
        (4, _) => CompareTarget::Lease(0),
        _ => CompareTarget::Unknown,
    };
    let result = match m.result {
        0 => CompareResult::Equal,
        1 => CompareResult::Greater,
        2 => CompareResult::Less,
        3 => CompareResult::NotEqual,
        _ => CompareResult::Unknown,
    };
    Compare { range: KeyRange::new(m.key, m.range_end), result, target }
}

fn expected_txn(m: pb::TxnRequest) -> TxnOp {
    use pb::request_op::Request as R;
    let ops = |list: Vec<pb::RequestOp>| -> Vec<Op> {
        let op = |op: pb::RequestOp| match op.request.unwrap() {
            R::RequestRange(m) => Op::Range(expected_range(m)),
            R::RequestPut(m) => Op::Put(expected_put(m)),
            R::RequestDeleteRange(m) => Op::Delete(expected_delete(m)),
            R::RequestTxn(m) => Op::Txn(expected_txn(m)),
        };
        list.into_iter().map(op).collect()
    };
    TxnOp {
        compare: m.compare.into_iter().map(expected_compare).collect(),
        success: ops(m.success),
        failure: ops(m.failure),
    }
}

fn bytes(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

proptest! {
    #[test]
    fn requests_read_by_hand_are_what_prost_wrote(
        put in put(), delete in delete(), range in range(), txn in txn()
    ) {
        prop_assert_eq!(wire::put(&bytes(&put)), Ok(expected_put(put)));
        prop_assert_eq!(wire::delete_range(&bytes(&delete)), Ok(expected_delete(delete)));
        prop_assert_eq!(wire::range(&bytes(&range)), Ok(expected_range(range)));
        prop_assert_eq!(wire::txn(&bytes(&txn)), Ok(expected_txn(txn)));
    }

    /// Where prost reads bytes, so does this, and the same. Groups apart, which nobody sends.
    #[test]
    fn random_bytes_are_read_as_prost_reads_them(raw in prop::collection::vec(any::<u8>(), 0..40)) {
        let raw = Bytes::from(raw);
        if let (Ok(wanted), Ok(read)) = (pb::PutRequest::decode(raw.clone()), wire::put(&raw)) {
            prop_assert_eq!(read, expected_put(wanted));
        }
        let _ = wire::txn(&raw);
    }

    /// A message followed by another of its kind is their merge.
    #[test]
    fn fields_that_come_twice_merge_as_in_prost(first in put(), second in put(), cut in 0..4_usize) {
        let mut raw = bytes(&first).to_vec();
        raw.extend(second.encode_to_vec());
        raw.extend([&b"\x7a\x01x"[..], b"\xfd\x01abcd", b"\xf9\x01abcdefgh", b""][cut]);
        let raw = Bytes::from(raw);
        let wanted = pb::PutRequest::decode(raw.clone()).unwrap();
        prop_assert_eq!(wire::put(&raw), Ok(expected_put(wanted)));
    }
}

/// A transaction in a transaction, `depth` of them, without building it level by level.
fn nested(depth: usize) -> Bytes {
    let mut body: Vec<u8> = Vec::new();
    for _ in 1..depth {
        for tag in [4 << 3 | 2, 2 << 3 | 2] {
            let mut outer = vec![tag];
            prost::encoding::encode_varint(u64::try_from(body.len()).unwrap(), &mut outer);
            outer.extend_from_slice(&body);
            body = outer;
        }
    }
    body.into()
}

#[test]
fn transactions_nest_to_a_limit_and_no_stack_overflows() {
    assert!(wire::txn(&nested(limits::TXN_OPS_MAX + 1)).is_ok());
    assert!(wire::txn(&nested(limits::TXN_DEPTH_MAX)).is_ok());
    assert_eq!(wire::txn(&nested(limits::TXN_DEPTH_MAX + 1)), Err(Error::TooDeep));
    assert_eq!(wire::txn(&nested(10_000)), Err(Error::TooDeep));
}

#[test]
fn an_empty_operation_is_named() {
    let txn = pb::TxnRequest {
        success: vec![pb::RequestOp { request: None }],
        ..pb::TxnRequest::default()
    };
    assert_eq!(wire::txn(&bytes(&txn)), Err(Error::EmptyOp));
}

#[test]
fn keys_and_values_share_the_bytes_of_the_request() {
    let put = pb::PutRequest { key: b"key".as_ref().into(), ..pb::PutRequest::default() };
    let raw = bytes(&put);
    let read = wire::put(&raw).unwrap();
    assert!(raw.as_ptr_range().contains(&read.key.as_ptr()));
}

#[test]
fn cut_requests_are_malformed() {
    let put = pb::PutRequest {
        key: b"key".as_ref().into(),
        value: b"value".as_ref().into(),
        lease: -1,
        ..pb::PutRequest::default()
    };
    let raw = bytes(&put);
    let whole: Vec<usize> =
        (0..raw.len()).filter(|len| wire::put(&raw.slice(..*len)).is_ok()).collect();
    assert_eq!(whole, [0, 5, 12], "only where a field ends");
    let long = Bytes::from_static(b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
    assert_eq!(wire::put(&long), Err(Error::Malformed), "a number over 64 bits");
}
