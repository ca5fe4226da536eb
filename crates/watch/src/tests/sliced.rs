//! A revision that is noted slice by slice, and what watchers do meanwhile.

use super::rig::{Rig, STREAM};
use crate::{Change, Config};
use model::watch::WatchEvent;

/// A hub at revision 2, where `a` was put, and the changes of revision 3: `a` to `d`.
fn rig() -> (Rig, Vec<Change>) {
    let mut rig = Rig::new(Config::default(), 10);
    rig.put("a");
    let events = ["a", "b", "c", "d"].into_iter().enumerate().map(|(at, key)| WatchEvent {
        main: 3,
        sub: i64::try_from(at).unwrap(),
        key: key.into(),
        delete: false,
        prev: None,
    });
    let events: Vec<WatchEvent> = events.collect();
    let changes = events.iter().map(|event| rig.change(event)).collect();
    rig.history.extend(events);
    (rig, changes)
}

#[test]
fn watchers_are_told_of_a_revision_as_a_whole() {
    let (mut rig, changes) = rig();
    rig.create("a", "e", 0);
    rig.create("b", "", 0);
    rig.show();
    for slice in changes.chunks(1) {
        rig.hub.note(slice);
        assert_eq!(rig.show(), [""; 0], "nothing before the end");
    }
    assert_eq!(rig.revision(), 2);
    rig.hub.commit();
    assert_eq!(rig.show(), ["#0 rev 3 +a@3 +b@3 +c@3 +d@3", "#1 rev 3 +b@3"]);
}

#[test]
fn a_watcher_made_between_slices_gets_the_whole_revision() {
    let (mut rig, changes) = rig();
    rig.hub.note(&changes[..2]);
    rig.create("a", "e", 0);
    rig.create("a", "e", 3);
    rig.create("a", "e", 4);
    rig.catch_up();
    rig.show();
    rig.hub.note(&changes[2..]);
    rig.hub.commit();
    rig.catch_up();
    let all = "rev 3 +a@3 +b@3 +c@3 +d@3";
    assert_eq!(rig.show(), [format!("#0 {all}"), format!("#1 {all}")]);
    assert_eq!(rig.hub.gauges().slow_watchers, 0);
    rig.put("b");
    let mut shown = rig.show();
    shown.sort();
    assert_eq!(shown, ["#0 rev 4 +b@4", "#1 rev 4 +b@4", "#2 rev 4 +b@4"]);
}

#[test]
fn a_watcher_that_has_caught_up_between_slices_gets_the_whole_revision() {
    let (mut rig, changes) = rig();
    rig.create("a", "e", 2);
    rig.hub.note(&changes[..2]);
    rig.catch_up();
    assert_eq!(rig.show(), ["#0 rev 2 created", "#0 rev 2 +a@2"]);
    rig.hub.note(&changes[2..]);
    rig.hub.commit();
    rig.catch_up();
    assert_eq!(rig.show(), ["#0 rev 3 +a@3 +b@3 +c@3 +d@3"]);
}

#[test]
fn a_group_that_ends_between_slices_leaves_nothing_to_the_next() {
    let (mut rig, changes) = rig();
    rig.create("a", "e", 0);
    rig.hub.note(&changes[..2]);
    rig.hub.cancel(STREAM, 0);
    rig.create("b", "c", 0);
    rig.show();
    rig.hub.note(&changes[2..]);
    rig.hub.commit();
    rig.catch_up();
    assert_eq!(rig.show(), ["#1 rev 3 +b@3"]);
}
