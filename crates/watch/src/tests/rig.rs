//! A hub over a history of plain changes, and messages as a client decodes them.

use crate::{Change, Config, Create, Hub, Message, Span, StreamId};
use model::watch::WatchEvent;
use prost::Message as _;
use proto::{etcdserverpb, mvccpb};
use std::collections::BTreeMap;
use std::time::Duration;
use types::{KeyRange, Revision, Time};

pub(crate) const STREAM: StreamId = StreamId(1);
pub(crate) const INTERVAL: Duration = Duration::from_secs(600);

/// A keyspace in the simplest form: all it ever was.
pub(crate) struct Rig {
    pub(crate) hub: Hub,
    pub(crate) history: Vec<WatchEvent>,
    pub(crate) compacted: i64,
    live: BTreeMap<Vec<u8>, i64>,
    value_bytes: usize,
}

impl Rig {
    pub(crate) fn new(config: Config, value_bytes: usize) -> Rig {
        let mut hub = Hub::new(config, 1, -1);
        hub.open(STREAM, Time(0), INTERVAL);
        let live = BTreeMap::new();
        Rig { hub, history: Vec::new(), compacted: -1, live, value_bytes }
    }

    pub(crate) fn revision(&self) -> i64 {
        self.hub.revision()
    }

    /// One revision: puts, or deletes where the key begins with '-'. Deletes of keys that do not
    /// exist do nothing; with nothing done there is no revision.
    pub(crate) fn txn(&mut self, keys: &[&str]) {
        let main = self.revision() + 1;
        let before = self.live.clone();
        let mut events = Vec::new();
        for key in keys {
            let (delete, key) = match key.strip_prefix('-') {
                Some(key) => (true, key.as_bytes().to_vec()),
                None => (false, key.as_bytes().to_vec()),
            };
            if delete && self.live.remove(&key).is_none() {
                continue;
            }
            if !delete {
                self.live.insert(key.clone(), main);
            }
            let sub = i64::try_from(events.len()).unwrap();
            let prev = before.get(&key).copied();
            events.push(WatchEvent { main, sub, key, delete, prev });
        }
        let changes: Vec<Change> = events.iter().map(|event| self.change(event)).collect();
        self.history.extend(events);
        if let Some((first, rest)) = changes.split_first() {
            self.hub.note(std::slice::from_ref(first));
            self.hub.note(rest);
            self.hub.commit();
        }
    }

    pub(crate) fn put(&mut self, key: &str) {
        self.txn(&[key]);
    }

    pub(crate) fn change(&self, event: &WatchEvent) -> Change {
        let kv = |main: i64| mvccpb::KeyValue {
            key: event.key.clone().into(),
            mod_revision: main,
            create_revision: 1,
            version: 1,
            value: vec![b'v'; self.value_bytes].into(),
            lease: 0,
        };
        let tombstone = mvccpb::KeyValue { key: event.key.clone().into(), ..Default::default() };
        let stored = if event.delete { tombstone } else { kv(event.main) };
        let compacted = event.main - 1 < self.compacted;
        let prev = event.prev.filter(|_| !compacted);
        Change {
            key: event.key.clone().into(),
            revision: Revision::new(event.main, event.sub),
            tombstone: event.delete,
            kv: stored.encode_to_vec().into(),
            prev: prev.map(|main| kv(main).encode_to_vec().into()),
        }
    }

    pub(crate) fn compact(&mut self, revision: i64) {
        self.compacted = revision;
        self.hub.compact(revision);
    }

    /// Brings one slice of history of at most `revisions`; false if nobody waits.
    pub(crate) fn feed(&mut self, revisions: i64) -> bool {
        let Some(wanted) = self.hub.next_span() else { return false };
        assert!(self.compacted <= wanted.from, "history before the compaction is never asked for");
        let span = Span { from: wanted.from, to: wanted.to.min(wanted.from + revisions - 1) };
        let wanted = self.history.iter().filter(|e| span.from <= e.main && e.main <= span.to);
        let changes: Vec<Change> = wanted.map(|event| self.change(event)).collect();
        self.hub.feed(span, &changes);
        true
    }

    pub(crate) fn catch_up(&mut self) {
        while self.feed(1000) {}
    }

    pub(crate) fn create(&mut self, key: &str, end: &str, start: i64) {
        self.hub.create(STREAM, &create(key, end, start));
    }

    pub(crate) fn drain(&mut self) -> Vec<Message> {
        self.drain_of(STREAM, usize::MAX)
    }

    pub(crate) fn drain_of(&mut self, stream: StreamId, bytes_max: usize) -> Vec<Message> {
        let mut out = Vec::new();
        self.hub.drain(stream, bytes_max, &mut out);
        out
    }

    /// What waits on the first stream, as text.
    pub(crate) fn show(&mut self) -> Vec<String> {
        self.drain().iter().map(show).collect()
    }
}

pub(crate) fn create(key: &str, end: &str, start_revision: i64) -> Create {
    let range = KeyRange::new(key.to_owned(), end.to_owned());
    Create { range, start_revision, ..Create::default() }
}

/// The events of a message as a client decodes them.
pub(crate) fn events(message: &Message) -> Vec<WatchEvent> {
    let bytes: Vec<u8> = message.events.pieces().flat_map(|piece| piece.to_vec()).collect();
    assert_eq!(bytes.len(), message.events.bytes(), "lengths are known without the bytes");
    let decoded = etcdserverpb::WatchResponse::decode(bytes.as_slice()).unwrap();
    assert_eq!(decoded.events.len(), message.events.count());
    let event = |event: mvccpb::Event| {
        let kv = event.kv.unwrap();
        if event.r#type == 1 {
            assert_eq!((kv.create_revision, kv.version, kv.value.len()), (0, 0, 0));
        }
        WatchEvent {
            main: kv.mod_revision,
            sub: 0,
            key: kv.key.to_vec(),
            delete: event.r#type == 1,
            prev: event.prev_kv.map(|prev| prev.mod_revision),
        }
    };
    decoded.events.into_iter().map(event).collect()
}

/// `#watcher rev header [what] events`, an event as `+key@revision` or `-key@revision`, `<` its
/// previous revision.
pub(crate) fn show(message: &Message) -> String {
    let mut text = format!("#{} rev {}", message.watch_id, message.revision);
    for (is_set, word) in [
        (message.created, " created"),
        (message.canceled, " canceled"),
        (message.fragment, " fragment"),
    ] {
        if is_set {
            text += word;
        }
    }
    if message.compact_revision != 0 {
        text += &format!(" compacted {}", message.compact_revision);
    }
    if let Some(reason) = message.cancel_reason {
        text += &format!(" ({reason})");
    }
    for event in events(message) {
        let sign = if event.delete { '-' } else { '+' };
        text += &format!(" {sign}{}@{}", String::from_utf8_lossy(&event.key), event.main);
        if let Some(prev) = event.prev {
            text += &format!("<{prev}");
        }
    }
    text
}
