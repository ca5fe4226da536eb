//! The recorder notices what it is there for, and excuses only what is unknown.

use super::*;

fn put(recorder: &mut Recorder, key: &str, value: &str, revision: i64) {
    recorder.acknowledge(Change { revision, key: key.into(), value: Some(value.into()) });
}

fn served(items: &[(&str, &str, i64)]) -> BTreeMap<String, (String, i64)> {
    items.iter().map(|(k, v, r)| ((*k).to_string(), ((*v).to_string(), *r))).collect()
}

fn violations(recorder: &mut Recorder, items: &[(&str, &str, i64)], revision: i64) -> usize {
    recorder.settle(&served(items), revision);
    recorder.violations.len()
}

#[test]
fn an_acknowledged_write_that_is_gone_is_noticed() {
    let mut recorder = Recorder::default();
    put(&mut recorder, "a", "1", 2);
    assert_eq!(violations(&mut recorder, &[], 2), 1);
}

#[test]
fn an_older_value_is_noticed() {
    let mut recorder = Recorder::default();
    put(&mut recorder, "a", "1", 2);
    put(&mut recorder, "a", "2", 3);
    assert_eq!(violations(&mut recorder, &[("a", "1", 2)], 3), 1);
}

#[test]
fn a_deletion_that_comes_back_is_noticed() {
    let mut recorder = Recorder::default();
    put(&mut recorder, "a", "1", 2);
    recorder.acknowledge(Change { revision: 3, key: "a".into(), value: None });
    assert_eq!(violations(&mut recorder, &[("a", "1", 2)], 3), 1);
}

#[test]
fn a_revision_that_goes_back_is_noticed() {
    let mut recorder = Recorder::default();
    put(&mut recorder, "a", "1", 5);
    assert_eq!(violations(&mut recorder, &[("a", "1", 5)], 4), 1);
}

#[test]
fn an_unanswered_write_may_or_may_not_be_there_and_is_then_settled() {
    for there in [false, true] {
        let mut recorder = Recorder::default();
        put(&mut recorder, "a", "1", 2);
        recorder.lose("a", Some("2".into()));
        let first = if there { ("a", "2", 3) } else { ("a", "1", 2) };
        assert_eq!(violations(&mut recorder, &[first], 3), 0);
        let other = if there { ("a", "1", 2) } else { ("a", "2", 3) };
        assert_eq!(violations(&mut recorder, &[other], 3), 1, "what was seen once stays");
    }
}

#[test]
fn a_lease_that_is_gone_is_noticed() {
    let mut recorder = Recorder::default();
    recorder.leases.insert(7);
    recorder.settle_leases(&BTreeSet::new());
    assert_eq!(recorder.violations.len(), 1);
}

#[test]
fn a_key_that_nobody_wrote_is_noticed() {
    assert_eq!(violations(&mut Recorder::default(), &[("x", "1", 2)], 2), 1);
}
