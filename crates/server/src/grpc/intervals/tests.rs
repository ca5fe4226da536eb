//! Doubled keys of a transaction, with the gaps that etcd leaves.

use super::super::txn::Txn;
use super::*;
use proptest::prelude::*;
use types::{DeleteOp, KeyRange, PutOp};

fn put(key: &str) -> TxnOp {
    TxnOp::Put(PutOp { key: key.to_string().into(), ..Default::default() })
}

fn delete(key: &str, end: &str) -> TxnOp {
    TxnOp::Delete(DeleteOp {
        range: KeyRange::new(key.to_string(), end.to_string()),
        prev_kv: false,
    })
}

fn txn(success: Vec<TxnOp>, failure: Vec<TxnOp>) -> TxnOp {
    TxnOp::Txn(Txn { compare: Vec::new(), success, failure })
}

#[track_caller]
fn passes(ops: Vec<TxnOp>) {
    assert_eq!(check(&ops), Ok(()));
}

#[track_caller]
fn is_refused(ops: Vec<TxnOp>) {
    assert_eq!(check(&ops), Err(OpError::DuplicateKey));
}

#[test]
fn two_puts_of_a_key_are_refused_wherever_they_are() {
    passes(vec![put("a"), put("b")]);
    is_refused(vec![put("a"), put("a")]);
    is_refused(vec![put("a"), txn(vec![put("a")], vec![])]);
    is_refused(vec![txn(vec![put("a")], vec![]), txn(vec![], vec![put("a")])]);
}

#[test]
fn both_branches_of_a_nested_txn_may_put_a_key() {
    passes(vec![txn(vec![put("a")], vec![put("a")])]);
}

#[test]
fn a_put_inside_a_delete_is_refused_in_any_order() {
    is_refused(vec![put("b"), delete("a", "c")]);
    is_refused(vec![delete("a", "c"), put("b")]);
    passes(vec![delete("a", "c"), put("c")]);
    is_refused(vec![delete("a", ""), put("a")]);
    passes(vec![delete("a", ""), put("b")]);
}

#[test]
fn deletes_may_overlap() {
    passes(vec![delete("a", "c"), delete("b", "d"), delete("a", "")]);
    is_refused(vec![delete("a", "c"), delete("b", "d"), put("c")]);
}

#[test]
fn a_delete_to_the_end_escapes_the_check_as_in_etcd() {
    passes(vec![put("a"), delete("a", "\0")]);
    passes(vec![put("b"), delete("a", "\0")]);
    passes(vec![put("a"), delete("a", "a")]);
}

#[test]
fn nested_deletes_meet_the_parents_puts_and_later_siblings() {
    is_refused(vec![put("b"), txn(vec![delete("a", "c")], vec![])]);
    is_refused(vec![delete("a", "c"), txn(vec![put("b")], vec![])]);
    is_refused(vec![txn(vec![delete("a", "c")], vec![]), txn(vec![put("b")], vec![])]);
    passes(vec![txn(vec![put("b")], vec![]), txn(vec![delete("a", "c")], vec![])]);
    passes(vec![txn(vec![put("b")], vec![delete("a", "c")])]);
}

proptest! {
    #[test]
    fn merged_intervals_answer_as_a_plain_list_does(
        intervals in prop::collection::vec(("[a-e]{1,2}", "[a-e]{0,2}"), 0..12),
        keys in prop::collection::vec("[a-f]{1,3}", 1..12),
    ) {
        let mut deletes = Deletes::default();
        for (key, end) in &intervals {
            deletes.insert(&Bytes::from(key.clone()), &Bytes::from(end.clone()));
        }
        for key in keys {
            let plain = intervals.iter().any(|(first, end)| {
                if end.is_empty() { key == *first } else { *first <= key && key < *end }
            });
            prop_assert_eq!(deletes.contains(&Bytes::from(key)), plain);
        }
    }
}
