//! Watchers that wait for history: who gets which part of it, and what compaction does to them.

use crate::change::{Change, Encodings};
use crate::hub::{Hub, Span, State};
use crate::message::{Body, Message};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Events of one message of a catch-up, with their first revision.
#[derive(Clone)]
struct Part {
    first: i64,
    body: Arc<Body>,
}

impl Hub {
    /// Counts a new watcher among those of its group and stream that are not synced.
    pub(crate) fn enlist(&mut self, watcher: u32) {
        let (stream, group) = (self.watchers[watcher].stream, self.watchers[watcher].group);
        self.streams[stream].lagging += 1;
        self.groups.get_mut(group).others += 1;
        self.slow += 1;
    }

    /// Drops a watcher in any state.
    pub(crate) fn forget(&mut self, watcher: u32) {
        match self.watchers[watcher].state {
            State::Synced => self.unsync(watcher),
            State::Behind => {
                self.behind.remove(&(self.watchers[watcher].next, watcher));
            }
            State::Parked | State::Canceled => {}
        }
        let gone = self.watchers.remove(watcher);
        let stream = &mut self.streams[gone.stream];
        stream.watchers.remove(&gone.id);
        stream.lagging -= 1;
        let group = self.groups.get_mut(gone.group);
        group.others -= 1;
        self.prev_watchers -= usize::from(group.options.prev_kv);
        self.slow -= 1;
        self.groups.trim(gone.group);
    }

    /// A watcher that is in no list has all up to the current revision: it is synced, or while the
    /// next one is being noted, waits for that as for history.
    pub(crate) fn settle(&mut self, watcher: u32) {
        if self.is_noting && self.watchers[watcher].next <= self.revision + 1 {
            self.fall_behind(watcher);
        } else {
            self.sync(watcher);
        }
    }

    fn sync(&mut self, watcher: u32) {
        let value = &mut self.watchers[watcher];
        let group = self.groups.get_mut(value.group);
        value.state = State::Synced;
        value.position = u32::try_from(group.synced.len()).expect("slots are u32");
        group.synced.push(watcher);
        group.others -= 1;
        self.streams[value.stream].lagging -= 1;
        self.slow -= 1;
    }

    /// Takes a synced watcher out of its list; the caller puts it elsewhere.
    pub(crate) fn unsync(&mut self, watcher: u32) {
        let (group, position) = (self.watchers[watcher].group, self.watchers[watcher].position);
        let group = self.groups.get_mut(group);
        let at = usize::try_from(position).expect("u32 fits usize");
        assert_eq!(group.synced.swap_remove(at), watcher, "a synced watcher knows its place");
        if let Some(&moved) = group.synced.get(at) {
            self.watchers[moved].position = position;
        }
        self.enlist(watcher);
    }

    /// Lets a watcher that is in no list wait for history from its `next` on.
    pub(crate) fn fall_behind(&mut self, watcher: u32) {
        let value = &mut self.watchers[watcher];
        if value.next < self.compacted {
            value.state = State::Canceled;
            let (slot, watch_id) = (value.stream, value.id);
            let compact_revision = self.compacted;
            let message =
                Message { watch_id, canceled: true, compact_revision, ..Message::default() };
            return self.send(slot, message);
        }
        if self.streams[value.stream].full {
            value.state = State::Parked;
        } else {
            value.state = State::Behind;
            self.behind.insert((value.next, watcher));
        }
    }

    /// Parks every watcher of a stream that has no room left.
    fn park(&mut self, slot: u32) {
        self.streams[slot].full = true;
        for &watcher in self.streams[slot].watchers.values() {
            let value = &mut self.watchers[watcher];
            if value.state == State::Behind {
                value.state = State::Parked;
                self.behind.remove(&(value.next, watcher));
            }
        }
    }

    /// The stream has room again.
    pub(crate) fn unpark(&mut self, slot: u32) {
        self.streams[slot].full = false;
        let watchers: Vec<u32> = self.streams[slot].watchers.values().copied().collect();
        for watcher in watchers {
            if self.watchers[watcher].state == State::Parked {
                self.fall_behind(watcher);
            }
        }
    }

    /// History before `revision` is gone: whoever still needs it is cancelled.
    pub fn compact(&mut self, revision: i64) {
        assert!(self.compacted <= revision, "compaction does not go back");
        self.compacted = revision;
        let lost: Vec<(i64, u32)> = self.behind.range(..(revision, 0)).copied().collect();
        for place in lost {
            self.behind.remove(&place);
            self.fall_behind(place.1);
        }
    }

    /// The keyspace was replaced by a snapshot: every watcher goes on from where it was.
    pub fn restore(&mut self, revision: i64, compacted: i64) {
        assert!(self.revision <= revision, "a snapshot does not go back");
        let told = self.revision;
        (self.revision, self.compacted) = (revision, compacted);
        let slots: Vec<u32> = self.streams_watchers().collect();
        for watcher in slots {
            let value = &self.watchers[watcher];
            if value.state == State::Synced && value.next <= revision && told < revision {
                let next = value.next.max(told + 1);
                self.unsync(watcher);
                self.watchers[watcher].next = next;
                self.fall_behind(watcher);
            }
        }
        self.compact(compacted);
    }

    fn streams_watchers(&self) -> impl Iterator<Item = u32> {
        self.streams.iter().flat_map(|stream| stream.watchers.values().copied())
    }

    /// The revisions that are wanted next by watchers with room, if there are any. The sweep goes
    /// upwards through history and begins anew at its end, so that no watcher is passed over.
    pub fn next_span(&self) -> Option<Span> {
        let is_there = |place: &&(i64, u32)| place.0 <= self.revision;
        let mut ahead = self.behind.range((self.cursor, 0)..);
        let next = ahead.next().filter(is_there);
        let (from, _) = next.or_else(|| self.behind.first().filter(is_there))?;
        Some(Span { from: *from, to: self.revision })
    }

    /// True if a watcher behind asks for the record before a change of `key`: then the changes
    /// given to `feed` should carry it.
    pub fn wants_prev_behind(&self, key: &[u8]) -> bool {
        self.groups.any(key, |group| group.options.prev_kv && 0 < group.others)
    }

    /// Brings history: `changes` are all changes of the revisions of `span`, in order. Every
    /// watcher that waits for a revision within it takes its part.
    pub fn feed(&mut self, span: Span, changes: &[Change]) {
        assert!(span.from <= span.to, "a span has revisions");
        assert!(span.to <= self.revision, "history ends at the current revision");
        self.cursor = span.to + 1;
        let range = (span.from, 0)..=(span.to, u32::MAX);
        let waiting: Vec<(i64, u32)> = self.behind.range(range).copied().collect();
        let touched = self.groups.sort(changes, |group| 0 < group.others);
        let mut encodings: Vec<Encodings> = Vec::new();
        encodings.resize_with(changes.len(), Encodings::default);
        let mut shared: BTreeMap<(u32, i64), Vec<Part>> = BTreeMap::new();
        for (next, watcher) in waiting {
            if self.watchers[watcher].state != State::Behind {
                continue; // parked by an earlier one of its stream
            }
            let group = self.watchers[watcher].group;
            let parts = shared
                .entry((group, next))
                .or_insert_with(|| self.parts(group, next, changes, &mut encodings))
                .clone();
            self.hand_over(watcher, span.to, &parts);
        }
        for group in touched {
            self.groups.get_mut(group).pending.clear();
        }
    }

    /// The messages of a group from revision `next` on.
    fn parts(
        &self,
        group: u32,
        next: i64,
        changes: &[Change],
        encodings: &mut [Encodings],
    ) -> Vec<Part> {
        let group = self.groups.get(group);
        let mut parts: Vec<Part> = Vec::new();
        let mut body = Body::default();
        let (mut first, mut revisions) = (0, 0);
        let indexes = group.pending.iter().map(|at| usize::try_from(*at).expect("u32 fits usize"));
        let wanted: Vec<usize> = indexes.filter(|at| next <= changes[*at].revision.main).collect();
        for run in wanted.chunk_by(|a, b| changes[*a].revision.main == changes[*b].revision.main) {
            let events: Vec<_> = run
                .iter()
                .map(|at| encodings[*at].get(&changes[*at], group.options.prev_kv))
                .collect();
            let bytes: usize = events.iter().map(|event| event.len).sum();
            let over = self.config.batch_bytes_max < body.bytes() + bytes
                || self.config.batch_revisions_max <= revisions;
            if 0 < revisions && over {
                parts.push(Part { first, body: Arc::new(std::mem::take(&mut body)) });
                revisions = 0;
            }
            if revisions == 0 {
                first = changes[run[0]].revision.main;
            }
            revisions += 1;
            for event in events {
                body.push(event);
            }
        }
        if 0 < revisions {
            parts.push(Part { first, body: Arc::new(body) });
        }
        parts
    }

    /// Queues a watcher's part of the history up to `upto`, as far as its stream has room.
    fn hand_over(&mut self, watcher: u32, upto: i64, parts: &[Part]) {
        self.behind.remove(&(self.watchers[watcher].next, watcher));
        for part in parts {
            if !self.queue(watcher, &part.body) {
                self.watchers[watcher].next = part.first;
                self.watchers[watcher].state = State::Parked;
                return self.park(self.watchers[watcher].stream);
            }
        }
        self.watchers[watcher].next = upto + 1;
        if self.revision <= upto {
            self.settle(watcher);
        } else {
            self.fall_behind(watcher);
        }
    }
}
