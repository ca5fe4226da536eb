//! Streams: cut messages, slow readers, what is shared and what is left, bounds.

use super::rig::{INTERVAL, Rig, STREAM, create};
use crate::{Config, Create, Gauges, StreamId, reason};
use types::Time;

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
    let mut rig = Rig::new(Config::default(), 10);
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
    let mut rig = Rig::new(Config::default(), 10);
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
