//! One stream: its watchers' ids and the queue of what it is to send.

use crate::hub::StreamId;
use crate::message::Message;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use types::Time;

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    /// Slots of the watchers, by id.
    pub(crate) watchers: BTreeMap<i64, u32>,
    next_id: i64,
    outbox: VecDeque<Message>,
    /// Sum of the costs in `outbox`.
    bytes: usize,
    /// Messages without events in `outbox`.
    control: usize,
    /// Bytes of events that may wait.
    bytes_max: usize,
    /// Set when something did not fit, until half of the room is free again. Invariant: while
    /// set, no watcher of the stream is `Behind`, only `Parked`.
    pub(crate) full: bool,
    /// Watchers that are not synced.
    pub(crate) lagging: usize,
    /// True while the stream is announced as ready and was not drained since.
    pub(crate) announced: bool,
    pub(crate) progress_interval: Duration,
    pub(crate) progress_due: Time,
}

impl Stream {
    pub(crate) fn new(id: StreamId, bytes_max: usize, now: Time, interval: Duration) -> Stream {
        Stream {
            id,
            watchers: BTreeMap::new(),
            next_id: 0,
            outbox: VecDeque::new(),
            bytes: 0,
            control: 0,
            bytes_max,
            full: false,
            lagging: 0,
            announced: false,
            progress_interval: interval,
            progress_due: now + interval,
        }
    }

    /// The next id that is not in use.
    pub(crate) fn assign_id(&mut self) -> i64 {
        while self.watchers.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        self.next_id - 1
    }

    /// True if events of this cost may be queued. A message larger than all the room goes alone.
    pub(crate) fn has_room(&self, cost: usize) -> bool {
        !self.full && (self.bytes == 0 || self.bytes + cost <= self.bytes_max)
    }

    /// Queues a message. Control messages are bounded by `Hub::accepts`.
    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += message.cost();
        self.control += usize::from(message.events.is_empty());
        self.outbox.push_back(message);
    }

    /// Takes messages of about `bytes_max` together, at least one.
    pub(crate) fn drain(&mut self, bytes_max: usize, out: &mut Vec<Message>) {
        let mut taken = 0;
        while let Some(message) = self.outbox.front() {
            let cost = message.cost();
            if taken > 0 && taken + cost > bytes_max {
                break;
            }
            taken += cost;
            self.bytes -= cost;
            self.control -= usize::from(message.events.is_empty());
            out.extend(self.outbox.pop_front());
        }
        if self.outbox.is_empty() && self.outbox.capacity() > 64 {
            self.outbox.shrink_to(16);
        }
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.outbox.is_empty()
    }

    /// True once enough of a full queue was taken to go on.
    pub(crate) fn may_go_on(&self) -> bool {
        self.bytes <= self.bytes_max / 2
    }

    pub(crate) fn control(&self) -> usize {
        self.control
    }

    pub(crate) fn queued_events(&self) -> usize {
        self.outbox.iter().map(|message| message.events.count()).sum()
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.bytes
    }
}
