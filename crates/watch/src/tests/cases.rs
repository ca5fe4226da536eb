//! One behaviour a test.

use super::rig::{INTERVAL, Rig, STREAM, create, show};
use crate::{Config, Create, Gauges, StreamId, reason};
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
fn large_messages_are_cut_between_events_if_the_watcher_allows() {
    let config = Config { fragment_bytes: 1000, ..Config::default() };
    let mut rig = Rig::new(config, 300);
    rig.hub.create(STREAM, &Create { fragment: true, ..create("a", "z", 0) });
    rig.create("a", "z", 0);
    rig.txn(&["a", "b", "c", "d", "e"]);
    rig.drain_of(STREAM, 1);
    let shown = rig.show();
    assert_eq!(
        shown[1..],
        [
            "#0 rev 2 fragment +a@2 +b@2",
            "#0 rev 2 fragment +c@2 +d@2",
            "#0 rev 2 +e@2",
            "#1 rev 2 +a@2 +b@2 +c@2 +d@2 +e@2",
        ]
    );
}

#[test]
fn a_slow_stream_delays_only_its_own_watchers_and_loses_nothing() {
    let config = Config { queue_bytes_max: 2000, ..Config::default() };
    let mut rig = Rig::new(config, 300);
    let fast = StreamId(2);
    rig.hub.open(fast, Time(0), INTERVAL);
    rig.create("a", "", 0);
    rig.hub.create(fast, &create("a", "", 0));
    for _ in 0..20 {
        rig.put("a");
        assert!(rig.drain_of(fast, usize::MAX).last().is_some_and(|m| m.events.count() == 1));
        rig.catch_up();
    }
    assert_eq!(rig.hub.gauges().slow_watchers, 1);
    let mut got = Vec::new();
    while rig.hub.gauges().slow_watchers + rig.hub.gauges().queued_bytes > 0 {
        got.extend(rig.drain_of(STREAM, 500));
        rig.catch_up();
    }
    let revisions: Vec<i64> = got.iter().flat_map(super::rig::events).map(|e| e.main).collect();
    assert_eq!(revisions, (2..22).collect::<Vec<i64>>());
}

/// UC-047: watchers that catch up over the same history share its bytes.
#[test]
fn watchers_over_the_same_history_share_its_events() {
    let mut rig = Rig::new(Config::default(), 100_000);
    for _ in 0..10 {
        rig.put("a");
    }
    for stream in 2..22 {
        rig.hub.open(StreamId(stream), Time(0), INTERVAL);
        rig.hub.create(StreamId(stream), &create("a", "", 2));
    }
    rig.catch_up();
    let mut places = std::collections::BTreeSet::new();
    for stream in 2..22 {
        for message in rig.drain_of(StreamId(stream), usize::MAX) {
            let large = message.events.pieces().filter(|piece| 1000 < piece.len());
            places.extend(large.map(|piece| piece.as_ptr().addr()));
        }
    }
    assert_eq!(places.len(), 10, "each event is in memory once for all twenty streams");
}

/// UC-062: nothing is left of closed watchers and streams.
#[test]
fn gauges_and_groups_return_to_nothing() {
    let mut rig = rig();
    for round in 0..1000 {
        let stream = StreamId(10 + round);
        rig.hub.open(stream, Time(0), INTERVAL);
        rig.hub.create(stream, &create("a", "b", 0));
        rig.hub.create(stream, &create("a", "", 1));
        if round % 2 == 0 {
            rig.hub.cancel(stream, 0);
        }
        rig.put("a");
        rig.hub.close(stream);
    }
    rig.hub.close(STREAM);
    rig.hub.close(STREAM);
    let gauges = Gauges { events_total: rig.hub.gauges().events_total, ..Gauges::default() };
    assert_eq!(rig.hub.gauges(), gauges);
    assert_eq!(rig.hub.groups.len(), 0);
    assert!(rig.hub.is_idle());
}

#[test]
fn a_stream_holds_a_bounded_number_of_watchers_and_of_unread_answers() {
    let config = Config { watchers_max: 3, control_max: 5, ..Config::default() };
    let mut rig = Rig::new(config, 10);
    for _ in 0..4 {
        assert!(rig.hub.accepts(STREAM));
        rig.create("a", "", 0);
    }
    assert!(rig.hub.accepts(STREAM));
    rig.hub.cancel(STREAM, 0);
    assert!(!rig.hub.accepts(STREAM), "five answers wait");
    let shown = rig.show();
    assert_eq!(shown[3], format!("#-1 rev 1 created canceled ({})", reason::TOO_MANY));
    assert!(rig.hub.accepts(STREAM));
}

#[test]
fn a_stream_is_announced_once_until_it_is_drained() {
    let mut rig = rig();
    let mut ready = Vec::new();
    rig.create("a", "", 0);
    rig.put("a");
    rig.hub.take_ready(&mut ready);
    assert_eq!(ready, [STREAM]);
    rig.put("a");
    rig.hub.take_ready(&mut ready);
    assert_eq!(ready, [STREAM]);
    rig.drain_of(STREAM, 1);
    rig.put("a");
    rig.hub.take_ready(&mut ready);
    assert_eq!(ready, [STREAM], "more is left: whoever drains comes back anyway");
    rig.drain();
    rig.put("a");
    rig.hub.take_ready(&mut ready);
    assert_eq!(ready, [STREAM, STREAM]);
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
