//! Clients and watchers talk to the member.

use crate::client::{Asked, Outstanding};
use crate::execute::Answer;
use crate::invariant;
use crate::invariant::witness::Witness;
use crate::report::Violation;
use crate::workload::Workload;
use crate::world::{Action, Phase, World};
use member::Event;
use member::event::WatchCommand;
use member::request::{RequestId, Response, StreamId};
use std::time::Duration;

impl World {
    /// A member to talk to: the one that a client is bound to, or any; none if it does not serve.
    fn choose(&mut self, home: Option<usize>) -> Option<usize> {
        let at = home.unwrap_or_else(|| self.rng.below(self.hosts.len()));
        self.hosts[at].serves().then_some(at)
    }

    /// A client asks its next question, if it has none open.
    pub(crate) fn ask(&mut self, at: usize) -> Result<(), Violation> {
        let asks = matches!(self.phase, Phase::Busy | Phase::Healing);
        if !asks || self.clients[at].outstanding.is_some() {
            return Ok(());
        }
        let Some(host) = self.choose(self.clients[at].home) else {
            self.schedule(Duration::from_millis(10), Action::Client(at));
            return Ok(());
        };
        if self.now < self.hosts[host].paused_until {
            let after = self.hosts[host].paused_until.since(self.now);
            self.schedule(after, Action::AskAt(at, host));
            return Ok(());
        }
        self.ask_at(at, host)
    }

    /// A client asks this member.
    pub(crate) fn ask_at(&mut self, at: usize, host: usize) -> Result<(), Violation> {
        if self.clients[at].outstanding.is_some() {
            return Ok(());
        }
        if !self.hosts[host].serves() {
            self.schedule(Duration::from_millis(10), Action::Client(at));
            return Ok(());
        }
        let mut sequence = self.clients[at].sequence;
        let mut workload = Workload {
            rng: &mut self.rng,
            swarm: &self.swarm,
            oracle: &self.oracle,
            client: at,
            sequence: &mut sequence,
        };
        let plan = workload.draw();
        self.requests += 1;
        let id = RequestId(self.requests);
        let (sent, floor) = (self.now, self.oracle.observed);
        let client = &mut self.clients[at];
        client.sequence = sequence;
        client.outstanding = Some(Outstanding { host, id, asked: plan.asked, sent, floor });
        self.note(host, "ask", id.0);
        self.step(host, Event::Request { id, request: plan.request, deadline: None })?;
        if self.rng.chance(1) && self.clients[at].outstanding.is_some() {
            self.clients[at].outstanding = None;
            self.counts.unknown += 1;
            self.schedule(Duration::from_millis(1), Action::Client(at));
            self.step(host, Event::Cancel(id))?;
        }
        Ok(())
    }

    /// An answer leaves: it is compared, and what it shows counts as seen.
    pub(crate) fn answer(&mut self, host: usize, answer: Answer) -> Result<(), Violation> {
        let Answer { id, header, result, reader } = answer;
        self.note(host, "answer", id.0 << 1 | u64::from(result.is_ok()));
        if self.final_hashes.remove(&id) {
            return self.check_final_hash(host, &result);
        }
        let is_it = |outstanding: &Outstanding| outstanding.id == id;
        let mut clients = self.clients.iter();
        let Some(at) = clients.position(|client| client.outstanding.as_ref().is_some_and(is_it))
        else {
            return Ok(());
        };
        let Some(outstanding) = self.clients[at].outstanding.take() else { return Ok(()) };
        let think = Duration::from_micros(self.rng.between(0, 3000));
        self.schedule(think, Action::Client(at));
        let count = self.hosts.len();
        let here = &mut self.hosts[host];
        invariant::revision_monotonic::check(header.revision, here.revision_seen)?;
        here.revision_seen = header.revision;
        let mut witness = Witness {
            oracle: &mut self.oracle,
            view: &here.view,
            member: here.id,
            is_alone: count == 1,
            reader: reader.as_ref(),
        };
        witness.check(&outstanding, &result)?;
        if result.as_ref().is_err_and(|error| invariant::witness::is_open(*error)) {
            self.counts.unknown += 1;
            return Ok(());
        }
        self.oracle.observe(self.hosts[host].view.index);
        match (&outstanding.asked, &result) {
            (Asked::Write { .. } | Asked::Grant, _) => self.counts.acked_writes += 1,
            _ => self.counts.reads += 1,
        }
        match result {
            Ok(Response::LeaseGrant { id, .. }) => {
                self.oracle.renewed.insert(id.0, outstanding.sent);
            }
            Ok(Response::LeaseKeepAlive { id, ttl }) if 0 < ttl => {
                self.oracle.renewed.insert(id.0, outstanding.sent);
            }
            _ => {}
        }
        Ok(())
    }

    /// A watching client opens its stream and creates its watcher, from where it was.
    pub(crate) fn open_watch(&mut self, at: usize) -> Result<(), Violation> {
        if self.watchers[at].stream.is_some() {
            return Ok(());
        }
        let Some(host) = self.choose(None) else {
            self.schedule(Duration::from_millis(20), Action::OpenWatch(at));
            return Ok(());
        };
        self.streams += 1;
        let stream = StreamId(self.streams);
        let watcher = &mut self.watchers[at];
        watcher.stream = Some(stream.0);
        watcher.host = host;
        let create = watch::Create {
            range: watcher.range.clone(),
            start_revision: watcher.next,
            progress_notify: true,
            prev_kv: watcher.prev_kv,
            no_delete: watcher.no_delete,
            ..watch::Create::default()
        };
        self.step(host, Event::Watch { stream, command: WatchCommand::Open })?;
        self.step(host, Event::Watch { stream, command: WatchCommand::Create(create) })
    }

    /// A stream has messages: its client takes them soon, or late if it is slow.
    pub(crate) fn watch_ready(&mut self, _: usize, stream: StreamId) {
        let Some(at) = self.watchers.iter().position(|one| one.stream == Some(stream.0)) else {
            return;
        };
        if !std::mem::replace(&mut self.watchers[at].is_draining, true) {
            self.schedule_drain(at);
        }
    }

    fn schedule_drain(&mut self, at: usize) {
        let is_slow = self.phase == Phase::Busy && self.rng.chance(5);
        let most = if is_slow { 3_000_000 } else { 2_000 };
        let after = Duration::from_micros(self.rng.between(0, most));
        let host = self.watchers[at].host;
        self.schedule(after, Action::Drain(host, self.hosts[host].life, at));
    }

    pub(crate) fn drain(&mut self, at: usize) -> Result<(), Violation> {
        let host = self.watchers[at].host;
        let Some(process) = &mut self.hosts[host].process else { return Ok(()) };
        let Some(stream) = self.watchers[at].stream else { return Ok(()) };
        let mut messages = Vec::new();
        let bytes = self.rng.below(20_000);
        let is_more = process.member.drain_watch(StreamId(stream), bytes, &mut messages);
        self.watchers[at].is_draining = is_more;
        if is_more {
            self.schedule_drain(at);
        }
        self.schedule_turn(host);
        for message in messages {
            self.watch_message(at, &message)?;
        }
        // A watcher knows only what is durable: that counts as seen, too.
        self.oracle.observe(self.hosts[host].view.index);
        Ok(())
    }

    fn watch_message(&mut self, at: usize, message: &watch::Message) -> Result<(), Violation> {
        let watcher = &mut self.watchers[at];
        let model = &self.oracle.state.model;
        if message.created && !message.canceled {
            if !watcher.is_created {
                watcher.is_created = true;
                watcher.next = message.revision + 1;
            }
            return Ok(());
        }
        if message.canceled {
            invariant::watch_complete::check_compacted(watcher, message.compact_revision)?;
            watcher.next = message.compact_revision;
            let Some(stream) = watcher.stream.take() else { return Ok(()) };
            watcher.is_draining = false;
            self.schedule(Duration::from_millis(1), Action::OpenWatch(at));
            let stream = StreamId(stream);
            let host = self.watchers[at].host;
            return self.step(host, Event::Watch { stream, command: WatchCommand::Close });
        }
        if message.events.is_empty() {
            return invariant::watch_complete::check_progress(watcher, message.revision, model);
        }
        let events = invariant::watch_complete::check_events(watcher, message, model)?;
        self.counts.watch_events += events;
        Ok(())
    }
}
