use super::*;
use types::OpError::*;

fn put(key: &str) -> pb::PutRequest {
    pb::PutRequest { key: key.to_string().into(), ..Default::default() }
}

fn range_of(key: &str) -> pb::RangeRequest {
    pb::RangeRequest { key: key.to_string().into(), ..Default::default() }
}

fn put_op(key: &str) -> TxnOp {
    TxnOp::Put(put(key))
}

fn txn_of(success: Vec<TxnOp>) -> Txn {
    Txn { success, ..Txn::default() }
}

#[test]
fn a_range_needs_a_key_and_known_sort_options() {
    assert_eq!(range(&range_of("")), Err(EmptyKey));
    assert_eq!(range(&pb::RangeRequest { sort_order: 3, ..range_of("k") }), Err(InvalidSortOption));
    let bad_target = pb::RangeRequest { sort_target: 5, ..range_of("k") };
    assert_eq!(range(&bad_target), Err(InvalidSortOption));
    assert_eq!(range(&pb::RangeRequest { sort_order: 9, ..range_of("") }), Err(EmptyKey));
    assert_eq!(range(&pb::RangeRequest { sort_order: 2, sort_target: 4, ..range_of("k") }), Ok(()));
}

#[test]
fn a_streamed_range_takes_only_the_default_order_without_filters() {
    let text = |request: pb::RangeRequest| {
        range_stream(&request).err().map(|status| (status.code, status.message.into_owned()))
    };
    let orders = "RangeStream does not support custom sort orders";
    let filters = "RangeStream does not support revision filters";
    let refused = |text: &str| Some((Code::Unimplemented, text.to_string()));
    assert_eq!(text(range_of("k")), None);
    assert_eq!(text(pb::RangeRequest { sort_order: 1, ..range_of("k") }), None);
    assert_eq!(text(pb::RangeRequest { sort_target: 3, ..range_of("k") }), None);
    assert_eq!(text(pb::RangeRequest { sort_order: 2, ..range_of("k") }), refused(orders));
    let by_mod = pb::RangeRequest { sort_order: 1, sort_target: 3, ..range_of("k") };
    assert_eq!(text(by_mod), refused(orders));
    assert_eq!(text(pb::RangeRequest { min_mod_revision: 1, ..range_of("k") }), refused(filters));
    assert_eq!(range_stream(&range_of("")), Err(EmptyKey.into()));
}

#[test]
fn a_put_that_keeps_value_or_lease_must_not_bring_one() {
    assert_eq!(super::put(&put("")), Err(EmptyKey));
    let value = pb::PutRequest { ignore_value: true, value: "v".into(), ..put("k") };
    assert_eq!(super::put(&value), Err(ValueProvided));
    let lease = pb::PutRequest { ignore_lease: true, lease: 1, ..put("k") };
    assert_eq!(super::put(&lease), Err(LeaseProvided));
    let both = pb::PutRequest { ignore_value: true, ignore_lease: true, ..put("k") };
    assert_eq!(super::put(&both), Ok(()));
}

#[test]
fn the_largest_list_of_a_txn_counts_against_the_limit() {
    let ops = |count: usize| (0..count).map(|at| put_op(&format!("k{at}"))).collect::<Vec<_>>();
    assert_eq!(txn(&txn_of(ops(128)), 128), Ok(()));
    assert_eq!(txn(&txn_of(ops(129)), 128), Err(TooManyOps));
    let spread = Txn { success: ops(100), failure: ops(100), ..Txn::default() };
    assert_eq!(txn(&spread, 128), Ok(()));
}

#[test]
fn a_nested_txn_has_what_its_parent_left() {
    let inner =
        |count: usize| TxnOp::Txn(txn_of((0..count).map(|at| put_op(&format!("n{at}"))).collect()));
    let outer = |inner_count: usize| {
        let mut ops: Vec<TxnOp> = (0..99).map(|at| put_op(&format!("k{at}"))).collect();
        ops.push(inner(inner_count));
        txn_of(ops)
    };
    assert_eq!(txn(&outer(28), 128), Ok(()));
    assert_eq!(txn(&outer(29), 128), Err(TooManyOps));
}

#[test]
fn the_first_failing_rule_of_a_txn_wins() {
    let empty_compare = pb::Compare::default();
    let bad = Txn {
        compare: vec![empty_compare],
        success: vec![TxnOp::Empty],
        failure: vec![put_op("")],
    };
    assert_eq!(txn(&bad, 128), Err(EmptyKey));
    assert_eq!(txn(&txn_of(vec![TxnOp::Empty, put_op("")]), 128), Err(KeyNotFound));
    assert_eq!(txn(&txn_of(vec![put_op("k"), put_op("k"), put_op("")]), 128), Err(EmptyKey));
    assert_eq!(txn(&txn_of(vec![put_op("k"), put_op("k")]), 128), Err(DuplicateKey));
}

#[test]
fn a_txn_costs_its_dearer_branch_with_what_is_nested() {
    let dear = pb::PutRequest { value: vec![0; 100].into(), ..put("k") };
    assert_eq!(put_cost(&dear), 256 + 101);
    let nested = TxnOp::Txn(txn_of(vec![TxnOp::Put(dear)]));
    let both = Txn { success: vec![put_op("a")], failure: vec![nested], ..Txn::default() };
    assert_eq!(txn_cost(&both), 357);
    let reads = txn_of(vec![TxnOp::Range(range_of("k"))]);
    assert_eq!(txn_cost(&reads), 0);
}

#[test]
fn only_direct_ranges_make_a_txn_read_only() {
    assert!(is_read_only(&Txn::default()));
    assert!(is_read_only(&txn_of(vec![TxnOp::Range(range_of("k"))])));
    assert!(!is_read_only(&txn_of(vec![TxnOp::Txn(Txn::default())])));
    let write_else = Txn { failure: vec![put_op("k")], ..Txn::default() };
    assert!(!is_read_only(&write_else));
}

#[test]
fn a_compare_with_the_wrong_arm_compares_with_nothing() {
    let compare = pb::Compare {
        target: 3,
        result: 7,
        key: "k".into(),
        target_union: Some(pb::compare::TargetUnion::Version(5)),
        ..Default::default()
    };
    let op = compare_op(&compare);
    assert_eq!(op.target, types::CompareTarget::Value(bytes::Bytes::new()));
    assert_eq!(op.result, types::CompareResult::Unknown);
}
