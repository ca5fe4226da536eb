//! What follows a compaction: index work in slices, then segments rewritten at a pace.

use crate::effect::{Effect, Effects, Note};
use crate::member::Member;
use crate::request::{RequestId, Response, Ticket};
use types::{OpError, Time, limits};

/// Where the clearing up stands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Stage {
    /// Nothing to do.
    #[default]
    Idle,
    /// The index drops what is superseded, slice by slice.
    Index,
    /// The next flush job carries the rest of what was dropped.
    Flush(Option<Ticket>),
    /// Segments that hold garbage are rewritten.
    Rewrite,
}

/// Bookkeeping of compactions and of Defragment.
#[derive(Default, Debug)]
pub(crate) struct Compaction {
    stage: Stage,
    /// The newest revision whose clearing up is under way.
    revision: i64,
    /// The rewrite that is under way, with its beginning.
    rewriting: Option<(Ticket, Option<Time>)>,
    /// No rewrite before this, unless somebody waits.
    rest_until: Time,
    /// Clients that wait for the end, with their answer.
    physical: Vec<(RequestId, Result<(), OpError>)>,
    /// Clients that wait for Defragment.
    defragment: Vec<RequestId>,
}

impl Compaction {
    /// A compaction was applied.
    pub(crate) fn begin(&mut self, revision: i64) {
        self.revision = self.revision.max(revision);
        self.stage = Stage::Index;
    }

    pub(crate) fn is_active(&self) -> bool {
        self.stage != Stage::Idle
    }

    pub(crate) fn is_stepping(&self) -> bool {
        self.stage == Stage::Index
    }

    pub(crate) fn wait(&mut self, id: RequestId, result: Result<(), OpError>) {
        self.physical.push((id, result));
    }

    pub(crate) fn defragment(&mut self, id: RequestId) {
        self.defragment.push(id);
        if self.stage == Stage::Idle {
            self.stage = Stage::Flush(None);
        }
    }

    pub(crate) fn cancel(&mut self, id: RequestId) {
        self.physical.retain(|(waiting, _)| *waiting != id);
        self.defragment.retain(|waiting| *waiting != id);
    }

    pub(crate) fn flush_taken(&mut self, ticket: Ticket) {
        if self.stage == Stage::Flush(None) {
            self.stage = Stage::Flush(Some(ticket));
        }
    }

    pub(crate) fn flushed(&mut self, ticket: Ticket) {
        if self.stage == Stage::Flush(Some(ticket)) {
            self.stage = Stage::Rewrite;
        }
    }
}

impl Member {
    /// One slice of index work.
    pub(crate) fn compact_slice(&mut self, effects: &mut Effects) {
        if self.compaction.stage == Stage::Index {
            effects.push(Effect::Note(Note::CompactionSlice));
            if self.store.compact_step(limits::COMPACT_KEYS_PER_TURN) {
                self.compaction.stage = Stage::Flush(None);
            }
        }
        if self.compaction.stage == Stage::Flush(None) {
            self.flush.force();
        }
    }

    pub(crate) fn schedule_rewrite(&mut self, now: Time, effects: &mut Effects) {
        // A forced flush that found nothing to write leaves nothing to wait for.
        if self.compaction.stage == Stage::Flush(None) && !self.flush.is_in_flight() {
            self.compaction.stage = Stage::Rewrite;
        }
        let rests = now < self.compaction.rest_until && self.compaction.defragment.is_empty();
        if self.compaction.stage != Stage::Rewrite || self.compaction.rewriting.is_some() || rests {
            return;
        }
        let ticket = self.ticket();
        self.compaction.rewriting = Some((ticket, Some(now)));
        let now = !self.compaction.defragment.is_empty();
        effects.push(Effect::Rewrite { ticket, now });
    }

    pub(crate) fn rewritten(
        &mut self,
        now: Time,
        ticket: Ticket,
        reader: backend::Reader,
        done: bool,
        effects: &mut Effects,
    ) {
        let Some((expected, started)) = self.compaction.rewriting.take() else {
            debug_assert!(false, "no rewrite is under way");
            return;
        };
        assert_eq!(expected, ticket, "another rewrite is under way");
        self.store.set_reader(reader);
        let took = started.map_or_else(Default::default, |started| now.since(started));
        let rest = (took * limits::REWRITE_REST_FACTOR).min(limits::REWRITE_REST_MAX);
        self.compaction.rest_until = now + rest;
        // A compaction that was applied meanwhile starts over, and then ends for both.
        if !done || self.compaction.stage != Stage::Rewrite {
            return;
        }
        self.compaction.stage = Stage::Idle;
        effects.push(Effect::Note(Note::CompactionFinished(self.compaction.revision)));
        for (id, result) in std::mem::take(&mut self.compaction.physical) {
            self.reply(id, result.map(|()| Response::Compact), effects);
        }
        for id in std::mem::take(&mut self.compaction.defragment) {
            self.reply(id, Ok(Response::Defragment), effects);
        }
    }
}
