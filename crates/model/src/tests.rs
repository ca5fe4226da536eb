//! The reference is held against the written rules of the contract, one by one.

use crate::{Answer, Model};
use types::op::{DeleteOp, PutOp};
use types::{
    Compare, CompareResult, CompareTarget, KeyRange, LeaseId, Op, OpError, RangeOp, TxnOp,
};

fn put(key: &'static str, value: &'static str) -> PutOp {
    PutOp { key: key.into(), value: value.into(), ..PutOp::default() }
}

fn range(key: &'static str) -> RangeOp {
    RangeOp { range: KeyRange::single(key), ..RangeOp::default() }
}

fn all() -> KeyRange {
    KeyRange::new("\0", "\0")
}

fn when(key: &'static str, result: CompareResult, target: CompareTarget) -> Compare {
    Compare { range: KeyRange::single(key), result, target }
}

#[test]
fn a_fresh_store_is_at_revision_1_and_reads_do_not_advance_it() {
    let mut model = Model::new();
    assert_eq!(model.range(&range("a")).unwrap().revision, 1);
    assert_eq!(model.delete(&DeleteOp { range: all(), prev_kv: true }).revision, 1);
    assert_eq!(model.put(&put("a", "1")).unwrap().revision, 2);
}

#[test]
fn a_delete_shares_one_revision_among_its_keys() {
    let mut model = Model::new();
    for key in ["b", "a"] {
        model.put(&put(key, "")).unwrap();
    }
    let answer = model.delete(&DeleteOp { range: all(), prev_kv: true });
    assert_eq!((answer.revision, answer.deleted), (4, 2));
    let subs: Vec<_> = model.changes().iter().skip(2).map(|c| (c.sub, c.key.clone())).collect();
    assert_eq!(subs, [(0, b"a".to_vec()), (1, b"b".to_vec())]);
}

#[test]
fn nested_compares_look_at_the_state_before_the_transaction() {
    let mut model = Model::new();
    let missing = when("a", CompareResult::Equal, CompareTarget::Create(0));
    let nested = TxnOp { compare: vec![missing], ..TxnOp::default() };
    let txn = TxnOp { success: vec![Op::Put(put("a", "1")), Op::Txn(nested)], ..TxnOp::default() };
    let answer = model.txn(&txn).unwrap();
    assert_eq!(answer.revision, 2);
    assert!(matches!(&answer.answers[1], Answer::Txn(nested) if nested.succeeded));
}

#[test]
fn a_value_compare_on_a_missing_key_never_holds() {
    let model = Model::new();
    for result in [CompareResult::Equal, CompareResult::NotEqual, CompareResult::Less] {
        assert!(!model.compare(&when("a", result, CompareTarget::Value("".into()))));
    }
    assert!(model.compare(&when("a", CompareResult::Equal, CompareTarget::Version(0))));
}

#[test]
fn a_refused_transaction_changes_nothing() {
    let mut model = Model::new();
    let lost = PutOp { lease: LeaseId(7), ..put("b", "") };
    let txn = TxnOp { success: vec![Op::Put(put("a", "")), Op::Put(lost)], ..TxnOp::default() };
    assert_eq!(model.txn(&txn), Err(OpError::LeaseNotFound));
    assert_eq!(model.revision(), 1);
}

#[test]
fn a_transaction_holds_negative_revisions_against_the_compacted_one() {
    let mut model = Model::new();
    let read = RangeOp { revision: -1, ..range("a") };
    let txn = TxnOp { success: vec![Op::Range(read.clone())], ..TxnOp::default() };
    assert!(model.txn(&txn).is_ok());
    model.compact(0).unwrap();
    assert_eq!(model.txn(&txn), Err(OpError::Compacted));
    assert!(model.range(&read).is_ok());
}

#[test]
fn a_tombstone_at_the_compacted_revision_is_kept_for_one_round() {
    let mut model = Model::new();
    model.put(&put("a", "")).unwrap();
    model.delete(&DeleteOp { range: all(), prev_kv: false });
    model.put(&put("b", "")).unwrap();
    model.compact(3).unwrap();
    assert_eq!(model.kept().len(), 2);
    model.compact(4).unwrap();
    assert_eq!(model.kept().len(), 1);
    assert_eq!(model.live_bytes(), 257);
}

#[test]
fn a_revoked_lease_deletes_its_keys_in_one_revision() {
    let mut model = Model::new();
    model.grant(7).unwrap();
    for key in ["a", "b"] {
        model.put(&PutOp { lease: LeaseId(7), ..put(key, "") }).unwrap();
    }
    model.put(&put("b", "")).unwrap();
    model.revoke(7).unwrap();
    assert_eq!(model.revision(), 5);
    assert_eq!(model.current().map(|kv| kv.key.clone()).collect::<Vec<_>>(), [b"b".to_vec()]);
    assert_eq!(model.revoke(7), Err(OpError::LeaseNotFound));
}
