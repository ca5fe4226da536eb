//! Shapes that are refused, in etcd's order.

use super::*;
use types::KeyRange;
use types::OpError::*;

fn put(key: &str) -> PutOp {
    PutOp { key: key.to_string().into(), ..Default::default() }
}

fn range_of(key: &str) -> RangeOp {
    RangeOp { range: KeyRange::single(key.to_string()), ..Default::default() }
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
    assert_eq!(
        range(&RangeOp { sort_order: SortOrder::Unknown, ..range_of("k") }),
        Err(InvalidSortOption)
    );
    let bad_target = RangeOp { sort_target: SortTarget::Unknown, ..range_of("k") };
    assert_eq!(range(&bad_target), Err(InvalidSortOption));
    assert_eq!(range(&RangeOp { sort_order: SortOrder::Unknown, ..range_of("") }), Err(EmptyKey));
    assert_eq!(
        range(&RangeOp {
            sort_order: SortOrder::Descend,
            sort_target: SortTarget::Value,
            ..range_of("k")
        }),
        Ok(())
    );
}

#[test]
fn a_streamed_range_takes_only_the_default_order_without_filters() {
    let text = |request: RangeOp| {
        range_stream(&request).err().map(|status| (status.code, status.message.into_owned()))
    };
    let orders = "RangeStream does not support custom sort orders";
    let filters = "RangeStream does not support revision filters";
    let refused = |text: &str| Some((Code::Unimplemented, text.to_string()));
    assert_eq!(text(range_of("k")), None);
    assert_eq!(text(RangeOp { sort_order: SortOrder::Ascend, ..range_of("k") }), None);
    assert_eq!(text(RangeOp { sort_target: SortTarget::Mod, ..range_of("k") }), None);
    assert_eq!(text(RangeOp { sort_order: SortOrder::Descend, ..range_of("k") }), refused(orders));
    let by_mod =
        RangeOp { sort_order: SortOrder::Ascend, sort_target: SortTarget::Mod, ..range_of("k") };
    assert_eq!(text(by_mod), refused(orders));
    assert_eq!(text(RangeOp { min_mod_revision: 1, ..range_of("k") }), refused(filters));
    assert_eq!(range_stream(&range_of("")), Err(EmptyKey.into()));
}

#[test]
fn a_put_that_keeps_value_or_lease_must_not_bring_one() {
    assert_eq!(super::put(&put("")), Err(EmptyKey));
    let value = PutOp { ignore_value: true, value: "v".into(), ..put("k") };
    assert_eq!(super::put(&value), Err(ValueProvided));
    let lease = PutOp { ignore_lease: true, lease: LeaseId(1), ..put("k") };
    assert_eq!(super::put(&lease), Err(LeaseProvided));
    let both = PutOp { ignore_value: true, ignore_lease: true, ..put("k") };
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
    let empty_compare = types::Compare {
        range: KeyRange::default(),
        result: types::CompareResult::Equal,
        target: types::CompareTarget::Version(0),
    };
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
    let dear = PutOp { value: vec![0; 100].into(), ..put("k") };
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
