//! What a stream is to send: control messages and shared, encoded events.

use bytes::Bytes;
use std::sync::Arc;

/// One encoded event, framed as field 11 of `WatchResponse`.
#[derive(Clone, Debug)]
pub(crate) struct EventBytes {
    pub(crate) pieces: Pieces,
    pub(crate) len: usize,
}

/// Small events are one piece; large ones splice the stored record.
#[derive(Clone, Debug)]
pub(crate) enum Pieces {
    One(Bytes),
    Many(Arc<[Bytes]>),
}

/// Events that belong together, shared by every watcher of the same keys and options.
#[derive(Debug, Default)]
pub struct Body {
    events: Vec<EventBytes>,
    bytes: usize,
}

impl Body {
    /// Appends an event.
    pub(crate) fn push(&mut self, event: EventBytes) {
        self.bytes += event.len;
        self.events.push(event);
    }

    /// Bytes of all events, framed.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of events.
    pub(crate) fn count(&self) -> usize {
        self.events.len()
    }
}

/// A run of the events of a body.
#[derive(Clone, Debug, Default)]
pub struct Events {
    body: Option<Arc<Body>>,
    from: usize,
    to: usize,
    bytes: usize,
}

impl Events {
    /// All events of a body.
    pub(crate) fn whole(body: Arc<Body>) -> Events {
        let (to, bytes) = (body.count(), body.bytes());
        Events { body: Some(body), from: 0, to, bytes }
    }

    /// Cuts into runs of less than `bytes_max` each, on event boundaries; a single event is never
    /// cut. `head_bytes` is what a message takes beside its events.
    pub(crate) fn cut(body: &Arc<Body>, head_bytes: usize, bytes_max: usize) -> Vec<Events> {
        let mut runs = Vec::new();
        let (mut from, mut bytes) = (0, 0);
        for (at, event) in body.events.iter().enumerate() {
            if at > from && head_bytes + bytes + event.len >= bytes_max {
                runs.push(Events { body: Some(body.clone()), from, to: at, bytes });
                (from, bytes) = (at, 0);
            }
            bytes += event.len;
        }
        runs.push(Events { body: Some(body.clone()), from, to: body.count(), bytes });
        runs
    }

    /// Number of events.
    pub fn count(&self) -> usize {
        self.to - self.from
    }

    /// True without events.
    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Bytes of all pieces together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes to append to a `WatchResponse` after its other fields, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        let events = self.body.iter().flat_map(|body| &body.events[self.from..self.to]);
        events.flat_map(|event| match &event.pieces {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Many(pieces) => pieces,
        })
    }
}

/// One `WatchResponse`, without the parts of its header that the shell knows.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The watcher; -1 for a refused creation and for the answer to a progress request.
    pub watch_id: i64,
    /// Revision of the header.
    pub revision: i64,
    /// Answer to a creation.
    pub created: bool,
    /// The watcher is finished.
    pub canceled: bool,
    /// Where history begins, if the watcher asked for what lies before it; else 0.
    pub compact_revision: i64,
    /// Why a creation was refused.
    pub cancel_reason: Option<&'static str>,
    /// More pieces of the same message follow.
    pub fragment: bool,
    /// The events.
    pub events: Events,
}

impl Message {
    /// What the message weighs in a stream's queue.
    pub(crate) fn cost(&self) -> usize {
        MESSAGE_OVERHEAD_BYTES + self.events.bytes()
    }
}

/// Memory of a queued message beside its events.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 96;
/// Upper end of what a `WatchResponse` takes on the wire beside its events: header and ids.
pub(crate) const HEAD_BYTES: usize = 48;
