//! Watch streams: commands into the hub, history for those who are behind.

use crate::effect::{Effect, Effects};
use crate::event::WatchCommand;
use crate::member::Member;
use crate::request::StreamId;
use store::CatchUp;
use types::{Record, Time, limits};

/// Bookkeeping of catching up.
#[derive(Default, Debug)]
pub(crate) struct Watches {
    /// The read that is under way, with the first revision it reads (0 for previous records).
    reading: Option<i64>,
}

impl Member {
    pub(crate) fn watch(&mut self, now: Time, stream: StreamId, command: WatchCommand) {
        let stream = watch::StreamId(stream.0);
        let interval = self.config.progress_interval;
        let hub = self.store.hub_mut();
        match command {
            WatchCommand::Open => hub.open(stream, now, interval),
            WatchCommand::Create(create) => hub.create(stream, &create),
            WatchCommand::Cancel(id) => hub.cancel(stream, id),
            WatchCommand::Progress => hub.request_progress(stream),
            WatchCommand::Close => hub.close(stream),
        }
    }

    /// Takes messages of about `bytes_max` from a stream, at least one if there is one; true if
    /// more is left.
    pub fn drain_watch(
        &mut self,
        stream: StreamId,
        bytes_max: usize,
        messages: &mut Vec<watch::Message>,
    ) -> bool {
        self.store.hub_mut().drain(watch::StreamId(stream.0), bytes_max, messages)
    }

    pub(crate) fn watches_reading(&mut self, from: Option<i64>) {
        self.watches.reading = from;
    }

    /// History was read.
    pub(crate) fn history(&mut self, upto: i64, records: Vec<Record>, effects: &mut Effects) {
        if let Some(from) = self.watches.reading.take() {
            let next = self.store.history(from, upto, records);
            self.caught_up(next, effects);
        }
    }

    /// True if watchers that are behind can be given more without waiting for a read.
    pub(crate) fn can_catch_up(&self) -> bool {
        self.watches.reading.is_none() && self.store.hub().next_span().is_some()
    }

    /// Gives history to those who are behind, and tells which streams have messages.
    pub(crate) fn feed_watchers(&mut self, effects: &mut Effects) {
        for _ in 0..limits::CATCH_UPS_PER_TURN {
            if self.watches.reading.is_some() {
                break;
            }
            match self.store.catch_up() {
                CatchUp::Idle => break,
                next => self.caught_up(next, effects),
            }
        }
        let mut ready = Vec::new();
        self.store.hub_mut().take_ready(&mut ready);
        effects.extend(ready.into_iter().map(|stream| Effect::WatchReady(StreamId(stream.0))));
    }

    /// False while so many answers wait on a stream that its commands should not be read.
    pub fn watch_accepts(&self, stream: StreamId) -> bool {
        self.store.hub().accepts(watch::StreamId(stream.0))
    }
}
