//! Random histories and watchers against the obvious reference.

use super::rig::{INTERVAL, Rig, create, events};
use crate::{Config, Create, Message, StreamId};
use model::watch::{WatchEvent, Watcher};
use proptest::prelude::*;
use std::collections::BTreeMap;
use types::Time;

#[derive(Clone, Debug)]
enum Step {
    Txn(Vec<(bool, u8)>),
    Compact(i64),
    Create { stream: u8, key: u8, width: u8, start: i64, flags: u8 },
    Cancel { stream: u8, id: i64 },
    Drain { stream: u8, bytes: usize },
    Feed(i64),
    Progress(u8),
    Tick,
    Reopen(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 0..3_u8;
    prop_oneof![
        8 => prop::collection::vec((prop::bool::weighted(0.3), 0..6_u8), 1..4).prop_map(Step::Txn),
        1 => (0..6_i64).prop_map(Step::Compact),
        3 => (stream.clone(), 0..6_u8, 0..5_u8, -1..9_i64, any::<u8>()).prop_map(
            |(stream, key, width, start, flags)| Step::Create { stream, key, width, start, flags }
        ),
        1 => (stream.clone(), 0..4_i64).prop_map(|(stream, id)| Step::Cancel { stream, id }),
        4 => (stream.clone(), 0..900_usize)
            .prop_map(|(stream, bytes)| Step::Drain { stream, bytes }),
        5 => (1..4_i64).prop_map(Step::Feed),
        2 => stream.clone().prop_map(Step::Progress),
        1 => Just(Step::Tick),
        1 => stream.prop_map(Step::Reopen),
    ]
}

/// What a client knows of one of its watchers.
struct Known {
    watcher: Watcher,
    prev_kv: bool,
    got: Vec<WatchEvent>,
    /// Events of fragments whose end is still to come.
    partial: Vec<WatchEvent>,
    canceled: Option<i64>,
}

/// The clients of all streams, checking whatever arrives.
#[derive(Default)]
struct Clients {
    streams: BTreeMap<StreamId, BTreeMap<i64, Known>>,
    asked: BTreeMap<StreamId, Vec<Create>>,
    header: BTreeMap<StreamId, i64>,
}

impl Clients {
    fn receive(&mut self, stream: StreamId, message: &Message, rig: &Rig) {
        let (history, compacted) = (&rig.history, rig.compacted);
        if message.revision != 0 {
            let header = self.header.entry(stream).or_default();
            assert!(*header <= message.revision, "headers of a stream do not go back");
            *header = message.revision;
        }
        let watchers = self.streams.entry(stream).or_default();
        if message.created {
            let asked = self.asked.get_mut(&stream).unwrap().remove(0);
            if !message.canceled {
                let known = known(&asked, message.revision);
                assert!(watchers.insert(message.watch_id, known).is_none(), "ids are unique");
            }
            return;
        }
        if message.watch_id == -1 {
            for known in watchers.values() {
                told_up_to(known, message.revision, history);
            }
            return;
        }
        let known = watchers.get_mut(&message.watch_id).expect("created comes before all else");
        if message.canceled && message.compact_revision == 0 {
            assert!(known.partial.is_empty());
            let known = watchers.remove(&message.watch_id).unwrap();
            prefix(&known, history, compacted);
            return;
        }
        assert_eq!(known.canceled, None, "nothing follows the end of a watcher");
        if message.canceled {
            known.canceled = Some(message.compact_revision);
            return;
        }
        if message.events.is_empty() {
            told_up_to(known, message.revision, history);
            return;
        }
        known.partial.extend(events(message));
        if !message.fragment {
            let whole = std::mem::take(&mut known.partial);
            assert!(whole.last().unwrap().main <= message.revision);
            known.got.extend(whole);
            prefix(known, history, compacted);
        }
    }

    /// After everything was drained: each watcher has all of its events.
    fn finish(&self, rig: &Rig) {
        let (history, compacted) = (&rig.history, rig.compacted);
        for known in self.streams.values().flat_map(BTreeMap::values) {
            prefix(known, history, compacted);
            match known.canceled {
                None => told_up_to(known, rig.revision(), history),
                Some(compacted) => {
                    let last = known.got.last().map_or(0, |event| event.main);
                    assert!(last < compacted, "only what lies before the compaction was missed");
                }
            }
        }
    }
}

fn known(asked: &Create, revision: i64) -> Known {
    let start = if asked.start_revision == 0 { revision + 1 } else { asked.start_revision };
    Known {
        watcher: Watcher {
            key: asked.range.key.to_vec(),
            end: asked.range.end.to_vec(),
            start,
            no_put: asked.no_put,
            no_delete: asked.no_delete,
        },
        prev_kv: asked.prev_kv,
        got: Vec::new(),
        partial: Vec::new(),
        canceled: None,
    }
}

/// What came is a prefix of what is due, ending at a border of revisions.
fn prefix(known: &Known, history: &[WatchEvent], compacted: i64) {
    let due = known.watcher.of(history);
    assert!(known.got.len() <= due.len(), "nothing is invented");
    for (got, due) in known.got.iter().zip(&due) {
        assert_eq!((got.main, &got.key, got.delete), (due.main, &due.key, due.delete));
        let wanted = due.prev.filter(|_| known.prev_kv);
        let is_gone = due.main - 1 < compacted;
        assert!(got.prev == wanted || (got.prev.is_none() && is_gone));
    }
    if let (Some(last), Some(next)) = (known.got.last(), due.get(known.got.len())) {
        assert!(last.main < next.main, "a revision is not split");
    }
}

/// Nothing up to the revision is missing.
fn told_up_to(known: &Known, revision: i64, history: &[WatchEvent]) {
    assert!(known.partial.is_empty());
    let due = known.watcher.of(history);
    let told = due.iter().filter(|event| event.main <= revision).count();
    assert!(told <= known.got.len(), "progress {revision} comes after all events up to it");
}

struct World {
    rig: Rig,
    clients: Clients,
    /// The stream that each of the three stands for at the moment.
    streams: [StreamId; 3],
    made: u64,
    now: Time,
}

impl World {
    fn new() -> World {
        let config = Config {
            watchers_max: 6,
            queue_bytes_max: 700,
            control_max: 8,
            batch_revisions_max: 3,
            batch_bytes_max: 300,
            fragment_bytes: 200,
        };
        let mut world = World {
            rig: Rig::new(config, 30),
            clients: Clients::default(),
            streams: [StreamId(0); 3],
            made: 100,
            now: Time(0),
        };
        for at in 0..3 {
            world.open(at);
        }
        world
    }

    fn open(&mut self, at: usize) {
        self.made += 1;
        self.streams[at] = StreamId(self.made);
        self.rig.hub.open(self.streams[at], self.now, INTERVAL);
        self.clients.asked.insert(self.streams[at], Vec::new());
    }

    /// True if anything came.
    fn drain(&mut self, stream: StreamId, bytes: usize) -> bool {
        let messages = self.rig.drain_of(stream, bytes);
        for message in &messages {
            self.clients.receive(stream, message, &self.rig);
        }
        !messages.is_empty()
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Txn(ops) => {
                let names: Vec<String> =
                    ops.iter().map(|(delete, key)| name(*delete, *key)).collect();
                self.rig.txn(&names.iter().map(String::as_str).collect::<Vec<_>>());
            }
            Step::Compact(back) => {
                let revision = self.rig.revision() - back;
                if self.rig.compacted < revision {
                    self.rig.compact(revision);
                }
            }
            Step::Create { stream, key, width, start, flags } => {
                let stream = self.streams[usize::from(*stream)];
                let asked = self.asked(*key, *width, *start, *flags);
                if self.rig.hub.accepts(stream) {
                    self.rig.hub.create(stream, &asked);
                    self.clients.asked.get_mut(&stream).unwrap().push(asked);
                }
            }
            Step::Cancel { stream, id } => {
                self.rig.hub.cancel(self.streams[usize::from(*stream)], *id);
            }
            Step::Drain { stream, bytes } => {
                self.drain(self.streams[usize::from(*stream)], *bytes);
            }
            Step::Feed(revisions) => {
                self.rig.feed(*revisions);
            }
            Step::Progress(stream) => {
                self.rig.hub.request_progress(self.streams[usize::from(*stream)]);
            }
            Step::Tick => {
                self.now = self.now + INTERVAL;
                self.rig.hub.tick(self.now);
            }
            Step::Reopen(stream) => {
                let at = usize::from(*stream);
                self.rig.hub.close(self.streams[at]);
                self.clients.streams.remove(&self.streams[at]);
                self.open(at);
            }
        }
    }

    /// `start` counts back from the current revision: -1 is ahead of it, 8 is none.
    fn asked(&self, key: u8, width: u8, start: i64, flags: u8) -> Create {
        let first = name(false, key);
        let end = match width {
            0 => String::new(),
            4 => "\0".to_owned(),
            _ => name(false, key + width),
        };
        let start = if start == 8 { 0 } else { (self.rig.revision() - start).max(0) };
        let bit = |at: u8| flags & (1 << at) != 0;
        Create {
            no_put: bit(0) && bit(1),
            no_delete: bit(2) && bit(3),
            prev_kv: bit(4),
            fragment: bit(5),
            progress_notify: bit(6),
            ..create(&first, &end, start)
        }
    }

    fn finish(mut self) {
        loop {
            let mut moved = self.rig.feed(2);
            for stream in self.streams {
                moved |= self.drain(stream, 400);
            }
            if !moved {
                break;
            }
        }
        self.clients.finish(&self.rig);
    }
}

fn name(delete: bool, key: u8) -> String {
    let key = char::from(b'a' + key);
    if delete { format!("-{key}") } else { key.to_string() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// 200 cases of 300 steps.
    #[test]
    fn every_watcher_gets_exactly_its_events(steps in prop::collection::vec(step(), 300)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
        world.finish();
    }
}
