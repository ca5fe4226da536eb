//! Transactions from the wire.

use super::*;
use proptest::prelude::*;
use prost::Message;
use proto::etcdserverpb as pb;

fn nested(depth: usize) -> Bytes {
    let put = pb::PutRequest { key: "k".into(), ..Default::default() };
    let mut txn = pb::TxnRequest {
        success: vec![pb::RequestOp { request: Some(pb::request_op::Request::RequestPut(put)) }],
        ..Default::default()
    }
    .encode_to_vec();
    for _ in 1..depth {
        let mut op = vec![4 << 3 | 2];
        prost::encoding::encode_varint(txn.len() as u64, &mut op);
        op.extend(txn);
        txn = vec![2 << 3 | 2];
        prost::encoding::encode_varint(op.len() as u64, &mut txn);
        txn.extend(op);
    }
    txn.into()
}

fn depth_of(txn: &Txn) -> usize {
    match txn.success.first() {
        Some(TxnOp::Txn(nested)) => 1 + depth_of(nested),
        _ => 1,
    }
}

#[test]
fn nesting_as_deep_as_any_budget_allows_is_decoded() {
    let txn = Txn::decode(nested(128)).unwrap();
    assert_eq!(depth_of(&txn), 128);
    assert_eq!(super::super::validate::txn(&txn, 128), Ok(()));
}

#[test]
fn deeper_nesting_is_too_many_operations_and_costs_no_stack() {
    for depth in [129, 131, 300, 3_000] {
        let txn = Txn::decode(nested(depth)).unwrap();
        assert_eq!(
            super::super::validate::txn(&txn, 128),
            Err(types::OpError::TooManyOps),
            "{depth}"
        );
    }
}

#[test]
fn nesting_beyond_what_etcd_reads_is_refused_in_its_words() {
    assert_eq!(
        Txn::decode(nested(5_001)).unwrap_err().text(),
        "proto: exceeded maximum recursion depth"
    );
}

#[test]
fn the_last_arm_of_a_union_wins() {
    let mut op = vec![1 << 3 | 2, 0];
    op.extend([3 << 3 | 2, 3, 0x0a, 1, b'k']);
    let mut txn = vec![2 << 3 | 2, u8::try_from(op.len()).unwrap()];
    txn.extend(op);
    let txn = Txn::decode(txn.into()).unwrap();
    assert!(matches!(txn.success[..], [TxnOp::Delete(_)]));
}

#[test]
fn what_is_cut_short_is_refused() {
    let whole = nested(3);
    for len in 1..whole.len() {
        assert!(Txn::decode(whole.slice(..len)).is_err(), "{len}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(data in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz(&data);
    }
}
