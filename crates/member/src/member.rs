//! The member: takes events, and once a turn does all that follows from them.

use crate::apply::Apply;
use crate::compaction::Compaction;
use crate::compactor::Compactor;
use crate::config::{Config, StartError};
use crate::counters::Counters;
use crate::effect::{Effect, Effects, Note};
use crate::event::Event;
use crate::fetch::Fetches;
use crate::flush::Flush;
use crate::hashes::Hashes;
use crate::leases::Leases;
use crate::membership;
use crate::peers::Peers;
use crate::reads::Reads;
use crate::remote::Remote;
use crate::request::{Header, RequestId, Response, Ticket};
use crate::roles::{HandOver, Transfer};
use crate::waiting::Proposals;
use crate::watches::Watches;
use node::Node;
use std::collections::BTreeMap;
use store::Store;
use types::{Index, MemberId, OpError, Term, Time};

/// A member: one node and one store, and all bookkeeping between them.
///
/// A driver calls `step` for everything that happened and then `turn`, once; a tick includes a
/// turn. What is queued until the turn is proposed together, shares one read index, and is
/// answered together.
///
/// Invariants:
/// - nothing is answered before what it tells is durable here: entries are applied only after
///   their sync, and answers follow from apply;
/// - compacted <= flushed <= applied <= committed <= last.
pub struct Member {
    pub(crate) config: Config,
    pub(crate) node: Node,
    pub(crate) store: Store,
    /// Ticket and number of the batch that is being written.
    pub(crate) persist: Option<(Ticket, u64)>,
    pub(crate) proposals: Proposals,
    pub(crate) reads: Reads,
    pub(crate) apply: Apply,
    pub(crate) fetches: Fetches,
    pub(crate) flush: Flush,
    pub(crate) compaction: Compaction,
    pub(crate) compactor: Option<Compactor>,
    pub(crate) leases: Leases,
    pub(crate) hashes: Hashes,
    pub(crate) watches: Watches,
    /// Reads what the log has; without it slow members have what is in memory only.
    pub(crate) log_reader: Option<wal::Reader>,
    pub(crate) log_fetch: Option<Ticket>,
    pub(crate) peers: Peers,
    pub(crate) remote: Remote,
    pub(crate) publish: Publish,
    /// The term in which this leader proposed the cluster version.
    pub(crate) version_proposed: Term,
    /// Members that there is a connection to, and since when.
    pub(crate) connected: BTreeMap<MemberId, Time>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) hand_over: HandOver,
    pub(crate) disk_full: bool,
    pub(crate) alarm: Alarm,
    pub(crate) stop: Stop,
    /// `Effect::Fatal` was sent: nothing is done any more.
    pub(crate) is_dead: bool,
    pub(crate) counters: Counters,
    tickets: u64,
    next_tick: Time,
    pub(crate) leader: Option<MemberId>,
    /// When the leader of now was elected.
    pub(crate) leader_since: Time,
    pub(crate) term: Term,
}

/// How far the member is with telling the cluster about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Publish {
    /// To be proposed once a leader is known; by a leader once it has applied an entry of its term.
    Open,
    /// On its way.
    Proposed,
    /// Applied.
    Done,
}

/// How far the member is with raising its NOSPACE alarm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alarm {
    /// Nothing to do.
    Idle,
    /// To be proposed.
    Wanted,
    /// On its way.
    Proposed,
}

/// How far the member is with stopping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It runs.
    No,
    /// New requests are refused; what is on its way is finished.
    Asked,
    /// `Effect::Stopped` was sent.
    Done,
}

impl Member {
    /// A member over what the disk gave back: the log, and the store that was opened over the
    /// backend. A sole voter leads from its first turn on.
    pub fn new(
        config: Config,
        log: wal::Recovered,
        mut store: Store,
        now: Time,
    ) -> Result<Member, StartError> {
        let (applied, applied_term) = (store.applied(), store.applied_term());
        let founders = membership::founders(&config, &log);
        let (voters, learners) = membership::at_start(&config, &founders, &store)?;
        let is_fresh = log.entries.is_empty() && log.base.index == Index(0);
        let start = node::Start {
            founding: if is_fresh { membership::founding(&founders) } else { Vec::new() },
            hard_state: log.hard_state,
            base: log.base.index,
            base_term: log.base.term,
            entries: log.entries,
            voters,
            learners,
            applied,
            applied_term,
        };
        membership::seed(&founders, &mut store);
        membership::check_proposers(&founders, &store)?;
        let mut node = Node::new(config.node(), &start)?;
        if node.is_sole_voter() {
            node.campaign();
        }
        let compactor =
            config.auto_compaction.and_then(|mode| Compactor::new(mode, now, store.revision()));
        let compacted = store.compacted();
        Ok(Member {
            persist: None,
            proposals: Proposals::new(config.member, config.boot),
            reads: Reads::default(),
            apply: Apply::new(applied),
            fetches: Fetches::default(),
            flush: Flush::new(applied),
            compaction: Compaction::default(),
            compactor,
            leases: Leases::new(&config),
            hashes: Hashes::new(compacted),
            watches: Watches::default(),
            log_reader: None,
            log_fetch: None,
            peers: Peers::default(),
            remote: Remote::default(),
            publish: Publish::Open,
            version_proposed: Term(0),
            connected: BTreeMap::new(),
            transfers: Vec::new(),
            hand_over: HandOver::No,
            disk_full: false,
            alarm: Alarm::Idle,
            stop: Stop::No,
            is_dead: false,
            counters: Counters::default(),
            tickets: 0,
            next_tick: now + config.heartbeat,
            leader: None,
            leader_since: now,
            term: node.status().term,
            config,
            node,
            store,
        })
    }

    /// Takes one thing that happened. Effects may follow at once, or with the next `turn`.
    pub fn step(&mut self, now: Time, event: Event, effects: &mut Effects) {
        if self.is_dead {
            return;
        }
        match event {
            Event::Tick => self.tick(now, effects),
            Event::Request { id, request, deadline } => {
                self.request(now, id, request, deadline, effects);
            }
            Event::Cancel(id) => self.cancel(id),
            Event::Watch { stream, command } => self.watch(now, stream, command),
            Event::Persisted(ticket) => self.persisted(ticket),
            Event::Flushed { ticket, reader } => self.flushed(ticket, reader, effects),
            Event::Rewritten { ticket, reader, done } => {
                self.rewritten(now, ticket, reader, done, effects);
            }
            Event::Fetched { ticket, records } => self.fetched(now, ticket, records, effects),
            Event::LogFetched { ticket, entries } => self.log_fetched(ticket, &entries),
            Event::History { records, upto, .. } => self.history(upto, records, effects),
            Event::Hashed { ticket, hash } => self.hashed(ticket, hash, effects),
            Event::DiskSpace(space) => {
                self.disk_full = space == crate::event::DiskSpace::Full;
                // What is flushed is let go by the log, and that is room.
                self.flush.force();
            }
            Event::Peer { from, message } => self.peer(now, from, message, effects),
            Event::Unreachable(to) => self.node.unreachable(to),
            Event::Connected(to) => {
                self.connected.entry(to).or_insert(now);
            }
            Event::Disconnected(to) => {
                self.connected.remove(&to);
            }
            Event::Stop => {
                if self.stop == Stop::No {
                    self.stop = Stop::Asked;
                    self.begin_hand_over(now);
                }
            }
        }
        self.answer_peers(effects);
    }

    /// Ends a turn of the loop: does all that follows from the events since the last one.
    pub fn turn(&mut self, now: Time, effects: &mut Effects) {
        self.begin_turn(now, effects);
        self.end_turn(now, effects);
    }

    /// The first half of a turn: proposes, and hands out what is to be written. A driver that
    /// starts the write before it calls `end_turn` lets it run beside apply.
    pub fn begin_turn(&mut self, now: Time, effects: &mut Effects) {
        if self.is_dead {
            return;
        }
        self.send_asks(now, effects);
        if self.can_expire_more() {
            self.expire_leases(now, effects);
        }
        self.propose_queued(now, effects);
        self.ask_read_index(now);
        self.take_ready(now, effects);
        self.write(effects);
    }

    /// The second half of a turn: applies what is committed, answers, and looks after the rest.
    pub fn end_turn(&mut self, now: Time, effects: &mut Effects) {
        self.apply_committed(now, effects);
        if self.is_dead {
            return;
        }
        self.answer_reads(now, effects);
        self.publish(now);
        self.decide_version();
        self.raise_alarm(now);
        self.compact_slice(effects);
        self.start_hashes(effects);
        self.schedule_flush(now, effects);
        self.schedule_rewrite(now, effects);
        self.feed_watchers(effects);
        self.end_if_stopped(now, effects);
        self.answer_peers(effects);
        self.check();
    }

    /// When `Event::Tick` is due at the latest. If that is now, a turn left work behind.
    pub fn next_deadline(&self, now: Time) -> Time {
        let has_work = self.apply.can_go_on(self.is_pushed_back())
            || self.compaction.is_stepping()
            || self.proposals.has_fresh()
            || self.can_expire_more()
            || self.peers.has_foreign()
            || (self.remote.has_unsent() && self.leader.is_some())
            || (self.reads.is_fresh() && self.leader.is_some())
            || self.can_catch_up();
        if has_work { now } else { self.next_tick }
    }

    /// Time went on.
    fn tick(&mut self, now: Time, effects: &mut Effects) {
        if self.next_tick <= now {
            self.node.tick();
            // Ticks that were missed are not made up for: a pause must not look like a silence
            // of the leader.
            self.next_tick = now + self.config.heartbeat;
            if !self.leads() {
                self.proposals.offer_late(now, self.patience());
            }
            self.expire_waits(now, effects);
            self.expire_leases(now, effects);
            self.auto_compact(now);
            self.store.hub_mut().tick(now);
        }
        self.turn(now, effects);
    }

    /// Takes all that raft has ready.
    fn take_ready(&mut self, now: Time, effects: &mut Effects) {
        while let Some(ready) = self.node.ready() {
            self.follow_roles(now, effects);
            for confirmed in ready.reads {
                self.reads.confirm(confirmed);
            }
            self.apply.push(ready.committed);
            self.send_raft(&ready.messages, effects);
        }
        self.fetch_log(effects);
        for member in self.node.take_wanted_snapshots() {
            effects.push(Effect::Note(Note::NeedsSnapshot(member)));
        }
    }

    /// Hands out what is to be written, if nothing is being written.
    fn write(&mut self, effects: &mut Effects) {
        let Some(persist) = self.node.take_persist() else { return };
        let ticket = self.ticket();
        self.persist = Some((ticket, persist.number));
        let mut frames: Vec<wal::Frame> =
            persist.entries.into_iter().map(wal::Frame::Entry).collect();
        frames.extend(persist.hard_state.map(wal::Frame::HardState));
        let batch = wal::Batch { frames };
        self.flush.logged(batch.written_bytes());
        effects.push(Effect::Persist { ticket, batch });
    }

    fn persisted(&mut self, ticket: Ticket) {
        match self.persist.take() {
            Some((expected, number)) if expected == ticket => self.node.persisted(number),
            other => {
                debug_assert!(false, "{ticket:?} is not being written");
                self.persist = other;
            }
        }
    }

    pub(crate) fn leads(&self) -> bool {
        self.leader == Some(self.config.member)
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Answers a request with the newest revision in the header.
    pub(crate) fn reply(
        &self,
        id: RequestId,
        result: Result<Response, OpError>,
        effects: &mut Effects,
    ) {
        self.reply_at(id, self.store.revision(), result, effects);
    }

    pub(crate) fn reply_at(
        &self,
        id: RequestId,
        revision: i64,
        result: Result<Response, OpError>,
        effects: &mut Effects,
    ) {
        let header = Header {
            cluster: self.config.cluster,
            member: self.config.member,
            revision,
            term: self.term,
        };
        let is_cold = result.as_ref().is_ok_and(Response::has_cold);
        let reader = is_cold.then(|| self.store.reader().clone());
        effects.push(Effect::Reply { id, header, result, reader });
    }

    /// The store, to look at.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store, for reads of the driver's own.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// State of the node.
    pub fn node_status(&self) -> node::Status {
        self.node.status()
    }

    /// Panics if an invariant of the bookkeeping does not hold.
    fn check(&self) {
        let (applied, status) = (self.apply.done(), self.node.status());
        let (flushed, committed) = (self.flush.durable(), status.committed);
        assert!(flushed <= applied, "flushed {flushed} is beyond applied {applied}");
        assert!(applied <= committed, "applied {applied} is beyond committed {committed}");
        assert!(committed <= status.last, "committed {committed} is beyond {}", status.last);
    }
}
