//! Progress: messages without events that say up to where a watcher has been told everything.

use crate::hub::{Hub, State, StreamId};
use crate::message::{MESSAGE_OVERHEAD_BYTES, Message};
use types::Time;

impl Hub {
    /// A client asks for the progress of its whole stream. One answer with id -1 follows if every
    /// watcher is synced and has begun; else silence: the client asks again.
    pub fn request_progress(&mut self, stream: StreamId) {
        let Some(&slot) = self.ids.get(&stream) else { return };
        let owner = &self.streams[slot];
        let begun = |watcher: &u32| self.watchers[*watcher].start <= self.revision;
        let told = owner.lagging == 0
            && !owner.watchers.is_empty()
            && owner.has_room(MESSAGE_OVERHEAD_BYTES)
            && owner.watchers.values().all(begun);
        if told {
            let revision = self.revision;
            self.send(slot, Message { watch_id: -1, revision, ..Message::default() });
        }
    }

    /// Time went on: sends the progress of watchers that asked for it and were idle since the
    /// last tick of their stream.
    pub fn tick(&mut self, now: Time) {
        while let Some(&(due, slot)) = self.due.first() {
            if now < due {
                break;
            }
            self.due.remove(&(due, slot));
            self.send_progress(slot);
            let stream = &mut self.streams[slot];
            stream.progress_due = now + stream.progress_interval;
            self.due.insert((stream.progress_due, slot));
        }
    }

    /// When `tick` has something to do next.
    pub fn next_deadline(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    fn send_progress(&mut self, slot: u32) {
        let watchers: Vec<u32> = self.streams[slot].watchers.values().copied().collect();
        let revision = self.revision;
        for watcher in watchers {
            let value = &mut self.watchers[watcher];
            if !value.progress_notify {
                continue;
            }
            let quiet = std::mem::replace(&mut value.quiet, true);
            let told = value.state == State::Synced && value.start <= revision;
            let watch_id = value.id;
            if quiet && told && self.streams[slot].has_room(MESSAGE_OVERHEAD_BYTES) {
                self.send(slot, Message { watch_id, revision, ..Message::default() });
            }
        }
    }
}
