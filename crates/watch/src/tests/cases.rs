//! One behaviour a test.

use super::rig::{INTERVAL, Rig, STREAM, create, show};
use crate::{Config, Create, reason};
use types::Time;

fn rig() -> Rig {
    Rig::new(Config::default(), 10)
}

#[test]
fn a_watcher_gets_its_creation_then_one_message_per_revision() {
    let mut rig = rig();
    rig.put("a");
    rig.create("a", "c", 0);
    rig.txn(&["a", "b", "x"]);
    rig.txn(&["-a"]);
    rig.put("z");
    assert_eq!(rig.show(), ["#0 rev 2 created", "#0 rev 3 +a@3 +b@3", "#0 rev 4 -a@4"],);
}

#[test]
fn history_comes_with_the_current_revision_in_the_header() {
    let mut rig = rig();
    rig.put("a");
    rig.put("b");
    rig.put("a");
    rig.create("a", "", 2);
    assert_eq!(rig.show(), ["#0 rev 4 created"]);
    rig.catch_up();
    assert_eq!(rig.show(), ["#0 rev 4 +a@2 +a@4"]);
    rig.put("a");
    assert_eq!(rig.show(), ["#0 rev 5 +a@5"]);
}

#[test]
fn a_catch_up_message_ends_at_a_thousand_revisions_and_at_its_bytes() {
    let mut rig = rig();
    for _ in 0..1500 {
        rig.put("a");
    }
    rig.create("a", "", 2);
    rig.feed(5000);
    let counts: Vec<usize> = rig.drain().iter().map(|message| message.events.count()).collect();
    assert_eq!(counts, [0, 1000, 500]);
}

/// UC-056: four transactions of twelve values of 100 KB.
#[test]
fn catch_up_messages_stay_below_four_mebibytes_and_split_no_revision() {
    let mut rig = Rig::new(Config::default(), 100 * 1024);
    let keys: Vec<String> = (0..12).map(|n| format!("b{n:02}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    for _ in 0..4 {
        rig.txn(&keys);
    }
    rig.hub.create(STREAM, &Create { prev_kv: false, ..create("b", "c", 2) });
    rig.catch_up();
    let messages = rig.drain();
    let counts: Vec<usize> = messages.iter().map(|message| message.events.count()).collect();
    assert_eq!(counts, [0, 12, 12, 12, 12], "one revision is 1.2 MB, two are over 2 MiB");
    assert!(messages.iter().all(|message| message.events.bytes() < 4 << 20));
}

#[test]
fn ids_are_assigned_from_zero_and_skip_those_in_use() {
    let mut rig = rig();
    rig.hub.create(STREAM, &Create { watch_id: 1, ..create("a", "", 0) });
    rig.create("a", "", 0);
    rig.create("a", "", 0);
    rig.hub.create(STREAM, &Create { watch_id: 2, ..create("a", "", 0) });
    assert_eq!(
        rig.show(),
        [
            "#1 rev 1 created".to_owned(),
            "#0 rev 1 created".to_owned(),
            "#2 rev 1 created".to_owned(),
            format!("#-1 rev 1 created canceled ({})", reason::DUPLICATE_ID),
        ]
    );
    rig.put("a");
    assert_eq!(rig.show().len(), 3, "the watcher with the id lives on");
}

#[test]
fn refusals_say_why_and_the_stream_lives_on() {
    let mut rig = rig();
    rig.create("b", "a", 0);
    rig.create("b", "b", 0);
    rig.create("b", "", -1);
    rig.create("b", "\0", 0);
    let refused = |why: &str| format!("#-1 rev 1 created canceled ({why})");
    assert_eq!(
        rig.show(),
        [
            refused(reason::EMPTY_RANGE),
            refused(reason::EMPTY_RANGE),
            refused(reason::COMPACTED),
            "#0 rev 1 created".to_owned(),
        ]
    );
}

#[test]
fn an_empty_key_is_the_smallest_one() {
    let mut rig = rig();
    rig.create("", "\0", 0);
    rig.create("", "", 0);
    rig.txn(&["\0", "a"]);
    let shown = rig.show();
    assert!(shown.contains(&"#0 rev 2 +\0@2 +a@2".to_owned()), "{shown:?}");
    assert!(shown.contains(&"#1 rev 2 +\0@2".to_owned()), "{shown:?}");
}

/// UC-059: cancels of ids that are not there, twice, and of id 0.
#[test]
fn a_cancel_is_answered_once_and_an_unknown_id_with_silence() {
    let mut rig = rig();
    rig.hub.cancel(STREAM, 12345);
    rig.hub.cancel(STREAM, 0);
    rig.create("a", "", 0);
    rig.put("a");
    rig.hub.cancel(STREAM, 0);
    rig.hub.cancel(STREAM, 0);
    rig.put("a");
    rig.hub.create(STREAM, &Create { watch_id: 0, ..create("a", "", 0) });
    assert_eq!(
        rig.show(),
        ["#0 rev 1 created", "#0 rev 2 +a@2", "#0 rev 2 canceled", "#1 rev 3 created"]
    );
}

#[test]
fn filters_leave_events_out_and_send_nothing_without_any() {
    let mut rig = rig();
    rig.hub.create(STREAM, &Create { no_put: true, ..create("a", "", 0) });
    rig.hub.create(STREAM, &Create { no_delete: true, ..create("a", "", 0) });
    rig.put("a");
    rig.txn(&["-a"]);
    rig.hub.create(STREAM, &Create { no_put: true, ..create("a", "", 1) });
    rig.catch_up();
    assert_eq!(
        rig.show(),
        [
            "#0 rev 1 created",
            "#1 rev 1 created",
            "#1 rev 2 +a@2",
            "#0 rev 3 -a@3",
            "#2 rev 3 created",
            "#2 rev 3 -a@3",
        ]
    );
}

#[test]
fn the_previous_record_is_the_one_before_the_revision() {
    let mut rig = rig();
    rig.hub.create(STREAM, &Create { prev_kv: true, ..create("a", "", 0) });
    rig.put("a");
    rig.txn(&["a", "-a"]);
    assert_eq!(rig.show(), ["#0 rev 1 created", "#0 rev 2 +a@2", "#0 rev 3 +a@3<2 -a@3<2"]);
}

#[test]
fn a_start_ahead_is_silent_until_it_is_reached() {
    let mut rig = rig();
    rig.hub.create(STREAM, &Create { progress_notify: true, ..create("a", "", 4) });
    rig.put("a");
    rig.put("a");
    rig.hub.request_progress(STREAM);
    rig.hub.tick(Time(0) + INTERVAL);
    assert_eq!(rig.show(), ["#0 rev 1 created"], "neither events nor progress before");
    rig.put("a");
    rig.hub.request_progress(STREAM);
    assert_eq!(rig.show(), ["#0 rev 4 +a@4", "#-1 rev 4"]);
}

#[test]
fn a_compacted_start_is_confirmed_and_then_cancelled() {
    let mut rig = rig();
    for _ in 0..5 {
        rig.put("a");
    }
    rig.compact(4);
    rig.create("a", "", 3);
    rig.create("a", "", 4);
    rig.catch_up();
    assert_eq!(
        rig.show(),
        [
            "#0 rev 6 created",
            "#0 rev 0 canceled compacted 4",
            "#1 rev 6 created",
            "#1 rev 6 +a@4 +a@5 +a@6",
        ]
    );
    rig.hub.request_progress(STREAM);
    assert_eq!(rig.show().len(), 0, "it blocks progress until the client has cancelled it");
    rig.hub.cancel(STREAM, 0);
    rig.hub.request_progress(STREAM);
    assert_eq!(rig.show(), ["#0 rev 6 canceled", "#-1 rev 6"]);
}

/// UC-049, and UC-048 for a start at the compacted revision itself.
#[test]
fn compaction_while_a_watcher_is_behind_keeps_the_event_or_cancels() {
    let mut rig = rig();
    rig.put("k");
    rig.txn(&["-k"]);
    rig.put("other");
    rig.create("k", "", 3);
    rig.create("k", "", 2);
    rig.compact(3);
    rig.catch_up();
    assert_eq!(
        rig.show(),
        ["#0 rev 4 created", "#1 rev 4 created", "#1 rev 0 canceled compacted 3", "#0 rev 4 -k@3",]
    );
}

/// UC-051: progress never runs ahead of events.
#[test]
fn manual_progress_waits_for_every_watcher_of_the_stream() {
    let mut rig = rig();
    rig.hub.request_progress(STREAM);
    rig.create("a", "", 0);
    rig.hub.request_progress(STREAM);
    rig.put("a");
    rig.create("a", "", 2);
    rig.hub.request_progress(STREAM);
    rig.catch_up();
    rig.hub.request_progress(STREAM);
    assert_eq!(
        rig.show(),
        [
            "#0 rev 1 created",
            "#-1 rev 1",
            "#0 rev 2 +a@2",
            "#1 rev 2 created",
            "#1 rev 2 +a@2",
            "#-1 rev 2",
        ]
    );
}

#[test]
fn periodic_progress_skips_watchers_that_had_events() {
    let mut rig = rig();
    rig.hub.create(STREAM, &Create { progress_notify: true, ..create("a", "", 0) });
    rig.hub.create(STREAM, &Create { progress_notify: true, ..create("b", "", 0) });
    rig.create("c", "", 0);
    rig.put("a");
    rig.drain();
    assert_eq!(rig.hub.next_deadline(), Some(Time(0) + INTERVAL));
    rig.hub.tick(Time(0) + INTERVAL);
    assert_eq!(rig.show(), ["#1 rev 2"]);
    rig.hub.tick(Time(1));
    assert_eq!(rig.show().len(), 0);
    rig.hub.tick(Time(0) + INTERVAL + INTERVAL);
    assert_eq!(rig.show(), ["#0 rev 2", "#1 rev 2"]);
}

#[test]
fn a_snapshot_sends_watchers_through_history_from_where_they_were() {
    let mut rig = rig();
    rig.create("a", "", 0);
    rig.create("a", "", 20);
    rig.put("a");
    rig.drain();
    let main = rig.revision();
    for at in main + 1..main + 4 {
        let event = model::watch::WatchEvent {
            main: at,
            sub: 0,
            key: b"a".to_vec(),
            delete: false,
            prev: None,
        };
        rig.history.push(event);
    }
    rig.hub.restore(main + 3, -1);
    rig.catch_up();
    assert_eq!(rig.show(), ["#0 rev 5 +a@3 +a@4 +a@5"]);
    assert_eq!(rig.hub.gauges().slow_watchers, 0);
}

#[test]
fn shown_messages_are_what_these_tests_compare() {
    let message = crate::Message { watch_id: 3, revision: 9, ..crate::Message::default() };
    assert_eq!(show(&message), "#3 rev 9");
}
