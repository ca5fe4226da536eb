//! Messages of other members: those of raft, and proposals on their way to the leader.

use crate::effect::{Effect, Effects, Fatal, Note};
use crate::member::Member;
use crate::request::Ticket;
use crate::waiting::Offer;
use bytes::Bytes;
use node::{Class, Message, Role, StepError, codec};
use prost::Message as _;
use proto::peerpb::{self, peer::Kind};
use std::collections::BTreeSet;
use types::{MemberId, Time, limits};

/// What this member proposes for others.
#[derive(Default, Debug)]
pub(crate) struct Peers {
    /// To be proposed in this turn.
    foreign: Vec<Offer>,
    /// Ids that were proposed here in this term and are not applied yet.
    open: BTreeSet<u64>,
}

impl Peers {
    /// Leadership moved: whoever waits for a proposal offers it to the next leader.
    pub(crate) fn forget(&mut self) {
        self.foreign.clear();
        self.open.clear();
    }

    pub(crate) fn has_foreign(&self) -> bool {
        !self.foreign.is_empty()
    }

    pub(crate) fn applied(&mut self, id: u64) {
        self.open.remove(&id);
    }
}

impl Member {
    /// A message of another member.
    pub(crate) fn peer(
        &mut self,
        now: Time,
        from: MemberId,
        message: Bytes,
        effects: &mut Effects,
    ) {
        let Ok(message) = peerpb::Peer::decode(message) else {
            return refused(from, "not a message", effects);
        };
        if self.store.is_removed(from) {
            return self.send(from, Class::Other, Kind::Removed(peerpb::Removed {}), effects);
        }
        match message.kind {
            Some(Kind::Removed(_)) => self.was_removed(now, effects),
            Some(Kind::Raft(message)) => self.raft_message(from, message, effects),
            Some(Kind::Forward(forward)) => self.forwarded(from, forward, effects),
            Some(Kind::Ask(ask)) => self.asked(now, from, &ask, effects),
            Some(Kind::Told(told)) => self.told(from, told, effects),
            None => refused(from, "a message of a kind that is not known", effects),
        }
    }

    fn raft_message(&mut self, from: MemberId, message: peerpb::Raft, effects: &mut Effects) {
        let message = match codec::decode(message) {
            Ok(message) => message,
            Err(error) => return refused(from, &error.to_string(), effects),
        };
        let is_append = message.get_msg_type() == node::MessageType::MsgAppend;
        if is_append && !message.entries.is_empty() && !self.takes_entries() {
            return;
        }
        match self.node.step(from, message) {
            Ok(()) => {}
            Err(StepError::LogLost { commit, last }) => {
                self.is_dead = true;
                effects.push(Effect::Fatal(Fatal::LogLost { leader: from, commit, last }));
            }
            Err(error) => refused(from, &error.to_string(), effects),
        }
    }

    /// Gives the member what reads its own log: entries for slow members come from there once they
    /// have left memory.
    pub fn read_log_with(&mut self, reader: wal::Reader) {
        self.log_reader = Some(reader);
        self.node.can_fetch();
    }

    /// Fetches old entries that raft wants to send, one stretch at a time.
    pub(crate) fn fetch_log(&mut self, effects: &mut Effects) {
        let Some(reader) = self.log_reader.clone().filter(|_| self.log_fetch.is_none()) else {
            return;
        };
        if let Some((from, to)) = self.node.wanted_entries() {
            let ticket = self.ticket();
            self.log_fetch = Some(ticket);
            let bytes_max = limits::FORWARD_BYTES;
            effects.push(Effect::FetchLog { ticket, reader, from, to, bytes_max });
        }
    }

    pub(crate) fn log_fetched(&mut self, ticket: Ticket, entries: &[wal::Entry]) {
        if self.log_fetch.take_if(|open| *open == ticket).is_some() {
            self.node.fetched_entries(entries);
        }
    }

    /// Entries of others must find room on the disk and in memory. The leader sends them again.
    fn takes_entries(&self) -> bool {
        !self.disk_full && self.apply.bytes() < limits::UNAPPLIED_BYTES_MAX
    }

    /// Sends what raft has to say.
    pub(crate) fn send_raft(&self, messages: &[Message], effects: &mut Effects) {
        for message in messages {
            let Some(encoded) = codec::encode(message) else { continue };
            self.send(MemberId(message.to), codec::class(message), Kind::Raft(encoded), effects);
        }
    }

    pub(crate) fn send(&self, to: MemberId, class: Class, kind: Kind, effects: &mut Effects) {
        let message = peerpb::Peer { kind: Some(kind) }.encode_to_vec().into();
        effects.push(Effect::Send { to, class, message });
    }

    /// Proposals of another member: proposed here if this member leads, and passed over if not;
    /// who waits for them offers them again.
    fn forwarded(&mut self, from: MemberId, forward: peerpb::Forward, effects: &mut Effects) {
        if self.node.status().role != Role::Leader || self.proposals_full() {
            return;
        }
        for entry in forward.entries {
            // What cannot be read must not get into the log: every member would stop at it.
            let is_conf = entry.r#type != 0;
            let Some((id, data)) = readable(&entry.data, is_conf) else {
                refused(from, "a proposal that cannot be read", effects);
                continue;
            };
            if !self.store.has_seen(id) && self.peers.open.insert(id) {
                self.peers.foreign.push(Offer { id, entry: data, is_conf });
            }
        }
    }

    /// Offers what is queued to the leader. What it does not take is offered again: there is no
    /// leader, or too much waits to be committed.
    pub(crate) fn propose_queued(&mut self, now: Time, effects: &mut Effects) {
        let status = self.node.status();
        match (status.role, status.leader) {
            (Role::Leader, _) => self.propose_here(now),
            (_, Some(leader)) => self.forward(now, leader, effects),
            (_, None) => self.proposals.rest(),
        }
    }

    fn propose_here(&mut self, now: Time) {
        let own = self.proposals.take_queued(now);
        let unheard = self.proposals.take_unheard();
        let foreign = std::mem::take(&mut self.peers.foreign);
        if own.is_empty() && unheard.is_empty() && foreign.is_empty() {
            return;
        }
        let is_conf = |offer: &Offer| offer.is_conf;
        let (own_confs, own): (Vec<Offer>, Vec<Offer>) = own.into_iter().partition(is_conf);
        let (confs, foreign): (Vec<Offer>, Vec<Offer>) = foreign.into_iter().partition(is_conf);
        let entries = own.iter().chain(&foreign).map(|offer| offer.entry.clone());
        if self.node.propose(entries.chain(unheard.iter().cloned()).collect()).is_err() {
            for offer in foreign {
                self.peers.open.remove(&offer.id);
            }
            self.proposals.put_back(&own, unheard);
        }
        // One change at a time: raft drops another one until the first is applied.
        for offer in own_confs {
            if self.node.propose_conf(offer.entry.clone()).is_err() {
                self.proposals.put_back(&[offer], Vec::new());
            }
        }
        for offer in confs {
            if self.node.propose_conf(offer.entry).is_err() {
                self.peers.open.remove(&offer.id);
            }
        }
    }

    fn forward(&mut self, now: Time, leader: MemberId, effects: &mut Effects) {
        let own = self.proposals.take_queued(now);
        // Decided as a leader that this member is no more.
        self.proposals.take_unheard();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for Offer { entry: data, is_conf, .. } in own {
            bytes += data.len();
            let r#type = u32::from(is_conf);
            entries.push(peerpb::Entry { r#type, data, ..peerpb::Entry::default() });
            if limits::FORWARD_BYTES <= bytes {
                let full = std::mem::take(&mut entries);
                bytes = 0;
                self.send_forward(leader, full, effects);
            }
        }
        if !entries.is_empty() {
            self.send_forward(leader, entries, effects);
        }
    }

    fn send_forward(&self, to: MemberId, entries: Vec<peerpb::Entry>, effects: &mut Effects) {
        self.send(to, Class::Other, Kind::Forward(peerpb::Forward { entries }), effects);
    }
}

/// Id and bytes of a proposal that every member can read.
fn readable(data: &Bytes, is_conf: bool) -> Option<(u64, Bytes)> {
    if !is_conf {
        let entry = store::Entry::decode(data).ok()?;
        return (entry.id != 0).then(|| (entry.id, data.clone()));
    }
    // Raft parses these: it gets our encoding of what we have read.
    let change = proto::conf::ConfChange::decode(data).ok()?;
    (change.id != 0).then(|| (change.id, change.encode()))
}

fn refused(from: MemberId, why: &str, effects: &mut Effects) {
    effects.push(Effect::Note(Note::PeerRefused { from, why: why.to_owned() }));
}
