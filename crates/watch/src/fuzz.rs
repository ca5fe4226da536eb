//! Entry point for fuzzing: it eats any bytes and must neither panic nor hang.

use crate::{Change, Config, Create, Hub, Message, Span, StreamId};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;
use types::{KeyRange, Revision, Time};

/// Reads `data` as commands of three streams, changes and compactions, five bytes each. What
/// arrives at each watcher only goes forward, and begins with its creation.
pub fn watch_commands(data: &[u8]) {
    let config = Config { queue_bytes_max: 600, control_max: 32, ..Config::default() };
    let mut run = Run {
        hub: Hub::new(config, 1, -1),
        history: Vec::new(),
        compacted: -1,
        now: Time(0),
        seen: BTreeMap::new(),
    };
    for stream in 0..3 {
        run.hub.open(StreamId(stream), Time(0), Duration::from_secs(1));
    }
    for command in data.chunks_exact(5) {
        run.step([command[0], command[1], command[2], command[3], command[4]]);
    }
    while run.feed(7) || (0..3).any(|stream| run.drain(StreamId(stream), 500)) {}
    for stream in 0..3 {
        run.hub.close(StreamId(stream));
    }
    assert!(run.hub.is_idle(), "nothing is left of closed streams");
}

struct Run {
    hub: Hub,
    history: Vec<Change>,
    compacted: i64,
    now: Time,
    /// The last revision that each watcher heard of.
    seen: BTreeMap<(StreamId, i64), i64>,
}

impl Run {
    fn step(&mut self, [what, a, b, c, d]: [u8; 5]) {
        let stream = StreamId(u64::from(a % 3));
        match what % 9 {
            0 | 1 => self.change(a, b),
            2 => {
                if self.hub.accepts(stream) {
                    self.create(stream, b, c, d);
                }
            }
            3 => self.hub.cancel(stream, i64::from(b % 8)),
            4 => {
                self.drain(stream, usize::from(b) * 4);
            }
            5 => {
                self.feed(i64::from(b % 9) + 1);
            }
            6 => self.hub.request_progress(stream),
            7 => {
                self.now = self.now + Duration::from_millis(u64::from(b) * 10);
                self.hub.tick(self.now);
            }
            _ => {
                let revision = self.hub.revision() - i64::from(b % 8);
                if self.compacted < revision {
                    self.compacted = revision;
                    self.hub.compact(revision);
                }
            }
        }
    }

    fn change(&mut self, a: u8, b: u8) {
        let main = self.hub.revision() + 1;
        let key = Bytes::from(vec![b'a' + b % 7]);
        let mut kv = vec![0x0a, 1, key[0]];
        if a < 200 {
            kv.extend([0x2a, a]);
            kv.resize(5 + usize::from(a), a);
        }
        let change = Change {
            key,
            revision: Revision::new(main, 0),
            tombstone: 200 <= a,
            kv: kv.into(),
            prev: None,
        };
        self.hub.notify(std::slice::from_ref(&change));
        self.history.push(change);
    }

    fn create(&mut self, stream: StreamId, b: u8, c: u8, d: u8) {
        let end = match c % 5 {
            0 => vec![],
            1 => vec![0],
            width => vec![b'a' + b % 7 + width],
        };
        let create = Create {
            range: KeyRange::new(vec![b'a' + b % 7], end),
            start_revision: self.hub.revision() - i64::from(c / 16) + 3,
            watch_id: i64::from(d % 4),
            progress_notify: d & 16 != 0,
            no_put: d & 32 != 0,
            no_delete: d & 64 != 0,
            prev_kv: false,
            fragment: d & 128 != 0,
        };
        self.hub.create(stream, &create);
    }

    fn feed(&mut self, revisions: i64) -> bool {
        let Some(wanted) = self.hub.next_span() else { return false };
        let span = Span { from: wanted.from, to: wanted.to.min(wanted.from + revisions - 1) };
        let first = usize::try_from((span.from - 2).max(0)).expect("revisions begin at 2");
        let last = usize::try_from(span.to - 1).expect("revisions begin at 2");
        self.hub.feed(span, &self.history[first..last]);
        true
    }

    fn drain(&mut self, stream: StreamId, bytes: usize) -> bool {
        let mut messages = Vec::new();
        self.hub.drain(stream, bytes, &mut messages);
        for message in &messages {
            self.check(stream, message);
        }
        !messages.is_empty()
    }

    fn check(&mut self, stream: StreamId, message: &Message) {
        assert!(message.revision <= self.hub.revision(), "no header from the future");
        let id = (stream, message.watch_id);
        if message.created && !message.canceled {
            assert!(self.seen.insert(id, 0).is_none(), "ids are unique");
        } else if message.watch_id != -1 {
            let seen = self.seen.get_mut(&id).expect("created comes first");
            assert!(message.revision == 0 || *seen <= message.revision, "headers go forward");
            *seen = message.revision.max(*seen);
            if message.canceled && message.compact_revision == 0 {
                self.seen.remove(&id);
            }
        }
        let bytes: usize = message.events.pieces().map(Bytes::len).sum();
        assert_eq!(bytes, message.events.bytes(), "lengths are known without the bytes");
    }
}
