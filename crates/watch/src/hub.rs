//! The hub itself: streams, watchers, creation and end of both, and the notice of a revision.

use crate::change::{Change, Encodings};
use crate::create::{Create, reason};
use crate::group::{Groups, Options};
use crate::message::{Body, Events, HEAD_BYTES, MESSAGE_OVERHEAD_BYTES, Message};
use crate::slab::Slab;
use crate::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use types::{Time, limits};

/// Names a watch stream; chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub u64);

/// Bounds of a hub; the defaults are those of `types::limits`.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Watchers of one stream.
    pub watchers_max: usize,
    /// Bytes that may wait on one stream before its watchers are parked.
    pub queue_bytes_max: usize,
    /// Control messages that may wait before the stream's commands should not be read.
    pub control_max: usize,
    /// Distinct revisions in one message.
    pub batch_revisions_max: usize,
    /// Bytes in one message before it ends at the next border of revisions.
    pub batch_bytes_max: usize,
    /// Size from which a message is cut, if the watcher allows it.
    pub fragment_bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            watchers_max: limits::WATCHERS_PER_STREAM_MAX,
            queue_bytes_max: limits::WATCH_STREAM_QUEUE_BYTES_MAX,
            control_max: limits::WATCH_STREAM_CONTROL_MAX,
            batch_revisions_max: limits::WATCH_BATCH_REVISIONS_MAX,
            batch_bytes_max: limits::WATCH_BATCH_BYTES_MAX,
            fragment_bytes: limits::REQUEST_BYTES_MAX + limits::GRPC_OVERHEAD_BYTES,
        }
    }
}

/// Figures for metrics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gauges {
    /// Open streams.
    pub streams: usize,
    /// Watchers.
    pub watchers: usize,
    /// Watchers that are not synced.
    pub slow_watchers: usize,
    /// Bytes of queued messages, shared bytes counted at each stream.
    pub queued_bytes: usize,
    /// Events in queued messages.
    pub queued_events: usize,
    /// Events ever queued.
    pub events_total: u64,
}

/// Revisions that watchers wait for: `from` to `to`, both inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// First main revision.
    pub from: i64,
    /// Last main revision.
    pub to: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// In `Group::synced`.
    Synced,
    /// In `Hub::behind`.
    Behind,
    /// Behind, of a stream without room.
    Parked,
    /// Cancelled by compaction; the client has yet to say it knows.
    Canceled,
}

#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) stream: u32,
    pub(crate) id: i64,
    pub(crate) group: u32,
    /// Where the watcher is in `Group::synced`, if it is.
    pub(crate) position: u32,
    /// The start asked for, 0 if none: no message of the watcher carries a lower revision.
    pub(crate) start: i64,
    /// Lowest revision that is still wanted.
    pub(crate) next: i64,
    pub(crate) state: State,
    pub(crate) progress_notify: bool,
    /// No events since the last tick of progress.
    pub(crate) quiet: bool,
    pub(crate) fragment: bool,
}

/// The hub.
#[derive(Default)]
pub struct Hub {
    pub(crate) config: Config,
    pub(crate) revision: i64,
    pub(crate) compacted: i64,
    pub(crate) ids: BTreeMap<StreamId, u32>,
    pub(crate) streams: Slab<Stream>,
    pub(crate) watchers: Slab<Watcher>,
    pub(crate) groups: Groups,
    /// Watchers that wait for history and have room: (next, slot).
    pub(crate) behind: BTreeSet<(i64, u32)>,
    /// Where the sweep through history stands: watchers from here on come first.
    pub(crate) cursor: i64,
    /// Streams by their next tick of progress.
    pub(crate) due: BTreeSet<(Time, u32)>,
    pub(crate) ready: Vec<StreamId>,
    /// Between `note` and `commit`: no watcher becomes synced, so that those who are get all of
    /// the revision.
    pub(crate) is_noting: bool,
    /// Groups that the revision being noted concerns.
    pub(crate) noted: Vec<u32>,
    pub(crate) slow: usize,
    /// Watchers that ask for previous records.
    pub(crate) prev_watchers: usize,
    pub(crate) events_total: u64,
}

impl Hub {
    /// A hub over a keyspace at `revision`, compacted at `compacted` (-1 if never).
    pub fn new(config: Config, revision: i64, compacted: i64) -> Hub {
        Hub { config, revision, compacted, ..Hub::default() }
    }

    /// The revision up to which watchers were told.
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// A stream begins. `progress_interval` is this stream's own: jitter is the caller's.
    pub fn open(&mut self, stream: StreamId, now: Time, progress_interval: Duration) {
        assert!(!self.ids.contains_key(&stream), "stream {stream:?} is open already");
        assert!(!progress_interval.is_zero(), "progress needs an interval");
        let bytes_max = self.config.queue_bytes_max;
        let slot = self.streams.insert(Stream::new(stream, bytes_max, now, progress_interval));
        self.due.insert((self.streams[slot].progress_due, slot));
        self.ids.insert(stream, slot);
    }

    /// A stream ended; everything of it is dropped. Unknown streams are ignored.
    pub fn close(&mut self, stream: StreamId) {
        let Some(slot) = self.ids.remove(&stream) else { return };
        let watchers: Vec<u32> = self.streams[slot].watchers.values().copied().collect();
        for watcher in watchers {
            self.forget(watcher);
        }
        self.due.remove(&(self.streams[slot].progress_due, slot));
        self.streams.remove(slot);
    }

    /// Creates a watcher, or refuses it; either way the stream gets its answer.
    pub fn create(&mut self, stream: StreamId, create: &Create) {
        let Some(&slot) = self.ids.get(&stream) else { return };
        let range = create.normalized_range();
        if create.start_revision < 0 {
            return self.refuse(stream, reason::COMPACTED);
        }
        if range.is_empty() {
            return self.refuse(stream, reason::EMPTY_RANGE);
        }
        let id = create.watch_id;
        let owner = &mut self.streams[slot];
        if id != 0 && owner.watchers.contains_key(&id) {
            return self.refuse(stream, reason::DUPLICATE_ID);
        }
        if self.config.watchers_max <= owner.watchers.len() {
            return self.refuse(stream, reason::TOO_MANY);
        }
        let id = if id == 0 { owner.assign_id() } else { id };
        let synced = create.start_revision == 0 || self.revision < create.start_revision;
        let group = self.groups.find_or_make(&range, Options::of(create));
        let next =
            if create.start_revision == 0 { self.revision + 1 } else { create.start_revision };
        let watcher = self.watchers.insert(Watcher {
            stream: slot,
            id,
            group,
            position: 0,
            start: create.start_revision,
            next,
            state: State::Canceled,
            progress_notify: create.progress_notify,
            quiet: true,
            fragment: create.fragment,
        });
        self.streams[slot].watchers.insert(id, watcher);
        self.prev_watchers += usize::from(create.prev_kv);
        let revision = self.revision;
        self.send(slot, Message { watch_id: id, revision, created: true, ..Message::default() });
        self.enlist(watcher);
        if synced {
            self.settle(watcher);
        } else {
            self.fall_behind(watcher);
        }
    }

    /// Answers a creation with a refusal.
    pub fn refuse(&mut self, stream: StreamId, reason: &'static str) {
        let Some(&slot) = self.ids.get(&stream) else { return };
        let message = Message {
            watch_id: -1,
            revision: self.revision,
            created: true,
            canceled: true,
            cancel_reason: Some(reason),
            ..Message::default()
        };
        self.send(slot, message);
    }

    /// Ends a watcher; silence if the id is unknown.
    pub fn cancel(&mut self, stream: StreamId, id: i64) {
        let Some(&slot) = self.ids.get(&stream) else { return };
        let Some(&watcher) = self.streams[slot].watchers.get(&id) else { return };
        self.forget(watcher);
        let revision = self.revision;
        self.send(slot, Message { watch_id: id, revision, canceled: true, ..Message::default() });
    }

    /// True if a synced watcher of `key` asks for the record before a change: then the next
    /// `notify` should carry it.
    pub fn wants_prev(&self, key: &[u8]) -> bool {
        self.groups.any(key, |group| group.options.prev_kv && !group.synced.is_empty())
    }

    /// True if any watcher asks for the record before a change.
    pub fn wants_any_prev(&self) -> bool {
        0 < self.prev_watchers
    }

    /// True without watchers: then nobody needs to know what is told.
    pub fn is_idle(&self) -> bool {
        self.watchers.len() == 0
    }

    /// Tells the watchers of one new revision; `changes` are all of it, in order.
    pub fn notify(&mut self, changes: &[Change]) {
        if !changes.is_empty() {
            self.note(changes);
            self.commit();
        }
    }

    /// Notes changes of the revision that comes next, in order; `commit` tells all of them. A
    /// revision of many changes is noted slice by slice.
    pub fn note(&mut self, changes: &[Change]) {
        self.is_noting = true;
        let main = self.revision + 1;
        assert!(
            changes.iter().all(|change| change.revision.main == main),
            "revisions are told one by one"
        );
        if changes.is_empty() || self.is_idle() {
            return;
        }
        let touched = self.groups.sort(changes, |group| !group.synced.is_empty());
        let mut encodings: Vec<Encodings> = Vec::new();
        encodings.resize_with(changes.len(), Encodings::default);
        for at in touched {
            let group = self.groups.get_mut(at);
            if group.body.count() == 0 {
                self.noted.push(at);
            }
            for at in group.pending.drain(..) {
                let at = usize::try_from(at).expect("u32 fits usize");
                group.body.push(encodings[at].get(&changes[at], group.options.prev_kv));
            }
        }
    }

    /// Tells the watchers of the revision that was noted.
    pub fn commit(&mut self) {
        assert!(self.is_noting, "a revision is noted before it is told");
        self.is_noting = false;
        self.revision += 1;
        let mut noted = std::mem::take(&mut self.noted);
        for at in noted.drain(..) {
            let body = std::mem::take(&mut self.groups.get_mut(at).body);
            self.deliver_live(at, &Arc::new(body));
        }
        self.noted = noted;
    }

    /// Queues one revision's events at every synced watcher of a group.
    fn deliver_live(&mut self, group: u32, body: &Arc<Body>) {
        let mut at = 0;
        while let Some(&watcher) = self.groups.get(group).synced.get(at) {
            if self.revision < self.watchers[watcher].next {
                at += 1; // asked for a later start
            } else if self.queue(watcher, body) {
                at += 1;
            } else {
                self.unsync(watcher); // swaps another one to `at`
                self.watchers[watcher].next = self.revision;
                self.fall_behind(watcher);
            }
        }
    }

    /// Queues events for a watcher if its stream has room.
    pub(crate) fn queue(&mut self, watcher: u32, body: &Arc<Body>) -> bool {
        let to = &mut self.watchers[watcher];
        let stream = &mut self.streams[to.stream];
        if !stream.has_room(body.bytes() + MESSAGE_OVERHEAD_BYTES) {
            return false;
        }
        to.quiet = false;
        self.events_total += u64::try_from(body.count()).expect("usize fits u64");
        let (slot, watch_id, revision) = (to.stream, to.id, self.revision);
        let message = |events, fragment| Message {
            watch_id,
            revision,
            fragment,
            events,
            ..Message::default()
        };
        let whole = !to.fragment
            || body.count() < 2
            || HEAD_BYTES + body.bytes() < self.config.fragment_bytes;
        if whole {
            stream.push(message(Events::whole(body.clone()), false));
        } else {
            let mut runs = Events::cut(body, HEAD_BYTES, self.config.fragment_bytes);
            let last = runs.pop().expect("a body has events");
            for run in runs {
                stream.push(message(run, true));
            }
            stream.push(message(last, false));
        }
        self.announce(slot);
        true
    }

    /// Queues a control message.
    pub(crate) fn send(&mut self, slot: u32, message: Message) {
        self.streams[slot].push(message);
        self.announce(slot);
    }

    fn announce(&mut self, slot: u32) {
        let stream = &mut self.streams[slot];
        if !stream.announced {
            stream.announced = true;
            self.ready.push(stream.id);
        }
    }

    /// Moves the streams that have something to send since the last call to `out`.
    pub fn take_ready(&mut self, out: &mut Vec<StreamId>) {
        out.append(&mut self.ready);
    }

    /// Takes messages of about `bytes_max` from a stream, at least one if there is one; true if
    /// more is left. A stream drained to the end is announced again when something new comes.
    pub fn drain(&mut self, stream: StreamId, bytes_max: usize, out: &mut Vec<Message>) -> bool {
        let Some(&slot) = self.ids.get(&stream) else { return false };
        let owner = &mut self.streams[slot];
        owner.drain(bytes_max, out);
        let more = !owner.is_drained();
        owner.announced = more;
        if owner.full && owner.may_go_on() {
            self.unpark(slot);
        }
        more
    }

    /// False while so many answers wait that the stream's commands should not be read.
    pub fn accepts(&self, stream: StreamId) -> bool {
        self.ids
            .get(&stream)
            .is_none_or(|&slot| self.streams[slot].control() < self.config.control_max)
    }

    /// Figures for metrics.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            streams: self.streams.len(),
            watchers: self.watchers.len(),
            slow_watchers: self.slow,
            queued_bytes: self.streams.iter().map(Stream::queued_bytes).sum(),
            queued_events: self.streams.iter().map(Stream::queued_events).sum(),
            events_total: self.events_total,
        }
    }
}
