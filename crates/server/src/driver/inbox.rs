//! What arrived and was not stepped yet: one queue per connection, taken round-robin.

use member::Event;
use std::collections::VecDeque;

/// Most events that one turn of the loop takes.
const TURN_COUNT_MAX: usize = 1_000;
/// Bytes of requests after which a turn takes no more.
const TURN_BYTES_MAX: usize = 1024 * 1024;

/// Names the queue of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueId(usize);

/// All queues.
#[derive(Debug, Default)]
pub struct Inbox {
    queues: Vec<VecDeque<(Event, usize)>>,
    free: Vec<QueueId>,
    /// Queues that hold something, in the order of their turns.
    ring: VecDeque<QueueId>,
    /// Closed queues that still hold something.
    closing: Vec<QueueId>,
    bytes: usize,
}

impl Inbox {
    /// A queue for a new connection.
    pub fn open(&mut self) -> QueueId {
        self.free.pop().unwrap_or_else(|| {
            self.queues.push(VecDeque::new());
            QueueId(self.queues.len() - 1)
        })
    }

    /// The connection ended; what it sent is still stepped.
    pub fn close(&mut self, queue: QueueId) {
        if self.queues[queue.0].is_empty() {
            self.free.push(queue);
        } else {
            self.closing.push(queue);
        }
    }

    /// Adds an event of `bytes` bytes.
    pub fn push(&mut self, queue: QueueId, event: Event, bytes: usize) {
        let entries = &mut self.queues[queue.0];
        if entries.is_empty() {
            self.ring.push_back(queue);
        }
        entries.push_back((event, bytes));
        self.bytes += bytes;
    }

    /// Events that wait in a queue.
    pub fn len(&self, queue: QueueId) -> usize {
        self.queues[queue.0].len()
    }

    /// Bytes of requests that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Takes the share of one turn.
    pub fn take_turn(&mut self, out: &mut Vec<Event>) {
        let mut bytes = 0;
        for _ in 0..TURN_COUNT_MAX {
            let Some(queue) = self.ring.pop_front() else { return };
            let entries = &mut self.queues[queue.0];
            if let Some((event, size)) = entries.pop_front() {
                bytes += size;
                self.bytes -= size;
                out.push(event);
            }
            if !entries.is_empty() {
                self.ring.push_back(queue);
            } else if let Some(at) = self.closing.iter().position(|closing| *closing == queue) {
                self.closing.swap_remove(at);
                self.free.push(queue);
            }
            if TURN_BYTES_MAX <= bytes {
                return;
            }
        }
    }
}
