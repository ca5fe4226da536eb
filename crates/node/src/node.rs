//! The node: raft with its persistence made asynchronous.

use crate::config::{self, Config, Start, StartError};
use crate::convert::{election_ticks, hard_state_from_raft, hard_state_to_raft, raft_config};
use crate::log::{EntryId, Log, from_raft};
use crate::mutant;
use crate::{Persist, ReadConfirmed, ReadContext, Ready, StepError, check};
use bytes::Bytes;
use raft::eraftpb::{self, ConfState, Message, MessageType};
use raft::{RaftState, RawNode, StateRole};
use types::{Index, MemberId, Term};
use wal::HardState;

/// What a node is in its term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Follows a leader, or waits for one.
    Follower,
    /// Asks for votes, or asks whether it would get them.
    Candidate,
    /// Leads.
    Leader,
}

/// State of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Term of the newest hard state.
    pub term: Term,
    /// What the node is.
    pub role: Role,
    /// The leader, if one is known.
    pub leader: Option<MemberId>,
    /// Highest committed index.
    pub committed: Index,
    /// Last index of the log.
    pub last: Index,
}

/// A proposal that raft did not take: no leader, or too much is waiting to be committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped;

/// What a member is in the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It votes.
    Voter,
    /// It follows without a vote.
    Learner,
    /// It is no member any more.
    Gone,
}

/// A raft node.
///
/// Invariants:
/// - `in_flight` is the only batch that is being written; `queued` follows it;
/// - a ready with something to write is reported to raft only after `persisted` of a batch with
///   at least its number; empty ones are reported with it, or at once if nothing is being written.
pub struct Node {
    raw: RawNode<Log>,
    config: Config,
    /// Batch that is being written: number of its last ready.
    in_flight: Option<InFlight>,
    /// What has to be written next.
    queued: Queued,
    /// The founding entries are not durable yet: raft takes them for committed, but nothing is
    /// handed out.
    is_founding: bool,
    /// Number of the newest ready.
    number: u64,
    /// Newest hard state that was handed out to be written.
    hard_state_written: HardState,
    /// Messages that may leave now.
    outbox: Vec<Message>,
    /// Applied index, as reported.
    applied: Index,
    read_sequence: u64,
    elections: u64,
}

#[derive(Debug)]
struct InFlight {
    number: u64,
    votes: bool,
    after: Vec<Message>,
}

/// What waits to be written, in order.
#[derive(Default, Debug)]
struct Queued {
    number: u64,
    entries: Vec<wal::Entry>,
    /// True if term or vote changed: these must be durable even without entries.
    votes: bool,
    /// Messages that wait for it.
    after: Vec<Message>,
}

impl Queued {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.votes
    }

    /// Puts entries behind those that wait. A new leader's entries take the place of what an older
    /// one had there: nothing of it was written, so nothing of it is lost.
    fn extend(&mut self, entries: impl Iterator<Item = wal::Entry>) {
        for entry in entries {
            if self.entries.last().is_some_and(|last| entry.index <= last.index) {
                self.entries.retain(|held| held.index < entry.index);
            }
            self.entries.push(entry);
        }
    }
}

impl Node {
    /// A node over what the disk gave back.
    pub fn new(config: Config, start: &Start) -> Result<Node, StartError> {
        let founded;
        let start = if start.founding.is_empty() {
            start
        } else {
            founded = found(start);
            &founded
        };
        let (applied, covered) = config::check(start)?;
        // The commit index is not synced by itself, so the data may know better than the log.
        let commit = start.hard_state.commit.max(applied.index);
        let initial = RaftState::new(
            hard_state_to_raft(HardState { commit, ..start.hard_state }),
            ConfState {
                voters: start.voters.iter().map(|id| id.0).collect(),
                learners: start.learners.iter().map(|id| id.0).collect(),
                ..ConfState::default()
            },
        );
        let log = if start.voters == [config.member] && start.learners.is_empty() {
            // There is no slow member for whom the entries that the data covers are kept.
            Log::new(applied, &start.entries[covered..], initial)
        } else {
            let base = EntryId { index: start.base, term: start.base_term };
            Log::new(base, &start.entries, initial)
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raw = RawNode::new(&raft_config(&config, applied.index), log, &logger)
            .map_err(|error| StartError::Config(error.to_string()))?;
        let mut node = Node {
            raw,
            config,
            in_flight: None,
            queued: Queued {
                entries: start.founding.clone(),
                votes: !start.founding.is_empty(),
                ..Queued::default()
            },
            is_founding: !start.founding.is_empty(),
            number: 0,
            hard_state_written: if start.founding.is_empty() {
                start.hard_state
            } else {
                HardState::default()
            },
            outbox: Vec::new(),
            applied: applied.index,
            read_sequence: 0,
            elections: 0,
        };
        node.set_election_timeout();
        Ok(node)
    }

    /// True if this node alone decides: the only voter.
    pub fn is_sole_voter(&self) -> bool {
        let voters = self.raw.raft.prs().conf().voters().ids();
        self.raw.raft.promotable() && voters.iter().all(|id| id == self.config.member.0)
    }

    /// The voting members, by id.
    pub fn voters(&self) -> Vec<MemberId> {
        let voters = self.raw.raft.prs().conf().voters().ids();
        let mut voters: Vec<MemberId> = voters.iter().map(MemberId).collect();
        voters.sort_unstable();
        voters
    }

    /// The members without a vote, by id.
    pub fn learners(&self) -> Vec<MemberId> {
        let conf = self.raw.raft.prs().conf().to_conf_state();
        let mut learners: Vec<MemberId> = conf.learners.into_iter().map(MemberId).collect();
        learners.sort_unstable();
        learners
    }

    /// Starts an election now. A sole voter does so at its start and leads at once.
    pub fn campaign(&mut self) {
        if self.raw.raft.state == StateRole::Leader || self.would_win_early() {
            return;
        }
        self.elections += 1;
        // Only an unpromotable node refuses, and that is no error.
        let _ = self.raw.campaign();
        self.set_election_timeout();
    }

    /// Raft wants every entry durable here when an election is won. Others vote only after that,
    /// but a sole voter would win at once.
    fn would_win_early(&self) -> bool {
        let log = &self.raw.raft.raft_log;
        let is_open = self.is_writing() || log.last_index() != log.persisted;
        is_open && self.is_sole_voter()
    }

    /// One tick of the logical clock.
    pub fn tick(&mut self) {
        let would_campaign = self.raw.raft.state != StateRole::Leader;
        if would_campaign && self.would_win_early() {
            return;
        }
        if self.raw.tick() && would_campaign {
            self.elections += 1;
        }
        self.set_election_timeout();
    }

    /// Offers entries to the leader, all or none.
    pub fn propose(&mut self, entries: Vec<Bytes>) -> Result<(), Dropped> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut message = Message::default();
        message.set_msg_type(MessageType::MsgPropose);
        message.from = self.config.member.0;
        let entries: Vec<eraftpb::Entry> = entries
            .into_iter()
            .map(|data| eraftpb::Entry { data, ..eraftpb::Entry::default() })
            .collect();
        message.set_entries(entries.into());
        self.raw.raft.step(message).map_err(|_| Dropped)
    }

    /// Offers a membership change to the leader. It is dropped while an earlier one may not be
    /// applied yet.
    pub fn propose_conf(&mut self, data: Bytes) -> Result<(), Dropped> {
        if self.raw.raft.has_pending_conf() {
            return Err(Dropped);
        }
        let mut entry = eraftpb::Entry { data, ..eraftpb::Entry::default() };
        entry.set_entry_type(eraftpb::EntryType::EntryConfChange);
        let mut message = Message { from: self.config.member.0, ..Message::default() };
        message.set_msg_type(MessageType::MsgPropose);
        message.set_entries(vec![entry].into());
        self.raw.raft.step(message).map_err(|_| Dropped)
    }

    /// A membership change was applied: raft follows. `applied` of its entry comes after it.
    pub fn change(&mut self, member: MemberId, to: Standing) {
        let kind = match to {
            Standing::Voter => eraftpb::ConfChangeType::AddNode,
            Standing::Learner => eraftpb::ConfChangeType::AddLearnerNode,
            Standing::Gone => eraftpb::ConfChangeType::RemoveNode,
        };
        let mut change = eraftpb::ConfChange { node_id: member.0, ..Default::default() };
        change.set_change_type(kind);
        let changed = self.raw.apply_conf_change(&change);
        assert!(changed.is_ok(), "raft refuses to make {member} {to:?}: {changed:?}");
    }

    /// Begins to confirm a read index, with a context of its own. `None` if there is nobody who
    /// could confirm it yet: no leader is known, or it has not committed in its term. An attempt
    /// may be lost without notice; ask again after a while.
    pub fn read_index(&mut self) -> Option<ReadContext> {
        let raft = &self.raw.raft;
        let leads = raft.state == StateRole::Leader;
        if raft.leader_id == raft::INVALID_ID || (leads && !raft.commit_to_current_term()) {
            return None;
        }
        self.read_sequence += 1;
        let context = ReadContext {
            member: self.config.member.0,
            boot: self.config.boot,
            term: raft.term,
            sequence: self.read_sequence,
        };
        self.raw.read_index(context.encode());
        Some(context)
    }

    /// Takes a message that `from` sent.
    pub fn step(&mut self, from: MemberId, message: Message) -> Result<(), StepError> {
        check::check(&message, from, &self.raw.raft)?;
        if message.get_msg_type() == MessageType::MsgReadIndex
            && self.raw.raft.state != StateRole::Leader
        {
            // It would be sent on under a foreign name; who asked asks the leader again.
            return Ok(());
        }
        let result = self.raw.step(message);
        self.set_election_timeout();
        result.map_err(|error| match error {
            raft::Error::StepLocalMsg => StepError::Local,
            raft::Error::StepPeerNotFound => StepError::UnknownSender(from),
            other => StepError::Refused(other.to_string()),
        })
    }

    /// Asks for leadership to move to `to`.
    pub fn transfer_leader(&mut self, to: MemberId) {
        self.raw.transfer_leader(to.0);
    }

    /// True while leadership is on its way to another member: proposals are dropped.
    pub fn is_transferring(&self) -> bool {
        self.raw.raft.lead_transferee.is_some()
    }

    /// A message to this member could not be sent.
    pub fn unreachable(&mut self, to: MemberId) {
        self.raw.report_unreachable(to.0);
    }

    /// The voter that would lead best after this leader: the one that has most of its log.
    pub fn successor(&self) -> Option<MemberId> {
        let prs = self.raw.raft.prs();
        let others = prs.iter().filter(|(id, progress)| {
            let is_other = **id != self.config.member.0;
            is_other && prs.conf().voters().contains(**id) && progress.recent_active
        });
        let best = others.max_by_key(|(id, progress)| (progress.matched, **id));
        best.map(|(id, _)| MemberId(*id))
    }

    /// How far a member's log is known to equal the leader's; `None` if it is not known here.
    pub fn matched(&self, member: MemberId) -> Option<Index> {
        self.raw.raft.prs().get(member.0).map(|progress| Index(progress.matched))
    }

    /// Entries that were let go from memory can be fetched from the log on the disk.
    pub fn can_fetch(&mut self) {
        if !self.is_sole_voter() {
            self.raw.mut_store().can_fetch();
        }
    }

    /// The log on the disk has given up its entries up to `upto`.
    pub fn trimmed(&mut self, upto: Index) {
        self.raw.mut_store().trimmed(upto);
    }

    /// Entries that slow members need and that have to be read from the disk: first and last.
    pub fn wanted_entries(&self) -> Option<(Index, Index)> {
        self.raw.store().wanted()
    }

    /// What `wanted_entries` asked for, from the first on, as many as were read; none if they are
    /// gone.
    pub fn fetched_entries(&mut self, entries: &[wal::Entry]) {
        for context in self.raw.mut_store().fetched(entries) {
            self.raw.on_entries_fetched(context);
        }
        self.raw.mut_store().forget_fetched();
    }

    /// Members that need entries which are gone, since that was last asked.
    pub fn take_wanted_snapshots(&mut self) -> Vec<MemberId> {
        self.raw.mut_store().take_wanted_snapshots().into_iter().map(MemberId).collect()
    }

    /// True if `ready` or `take_persist` would give something.
    #[cfg(test)]
    pub(crate) fn has_ready(&self) -> bool {
        self.raw.has_ready() || !self.outbox.is_empty() || self.is_writing()
    }

    /// What can be done now, if there is anything.
    pub fn ready(&mut self) -> Option<Ready> {
        if self.is_founding {
            return None;
        }
        if !self.raw.has_ready() {
            if self.outbox.is_empty() {
                return None;
            }
            return Some(Ready { messages: std::mem::take(&mut self.outbox), ..Ready::default() });
        }
        let mut from = self.raw.ready();
        self.number = from.number();
        let role_changed = from.ss().is_some();
        let reads = from.take_read_states().into_iter().filter_map(|state| {
            let context = ReadContext::decode(&state.request_ctx)?;
            Some(ReadConfirmed { context, index: Index(state.index) })
        });
        let mut ready = Ready { reads: reads.collect(), role_changed, ..Ready::default() };
        ready.committed = from.take_committed_entries().iter().map(from_raft).collect();
        self.queue(&mut from);
        self.raw.advance_append_async(from);
        self.report_empty();
        ready.messages = std::mem::take(&mut self.outbox);
        Some(ready)
    }

    /// Puts what a ready wants durable behind what is queued already.
    fn queue(&mut self, from: &mut raft::Ready) {
        let entries = from.take_entries();
        self.raw.mut_store().append(&entries);
        let votes = from.must_sync() && {
            let raft = &self.raw.raft;
            let written = &self.hard_state_written;
            (raft.term, raft.vote) != (written.term.0, written.vote.0)
        };
        let votes = votes && !mutant::vote_not_persisted(self.config.mutant);
        if !entries.is_empty() || votes {
            self.queued.number = self.number;
            self.queued.votes |= votes;
            self.queued.extend(entries.iter().map(from_raft));
        }
        self.outbox.extend(from.take_messages());
        let votes_open = self.queued.votes || self.in_flight.as_ref().is_some_and(|it| it.votes);
        for message in from.take_persisted_messages() {
            let early = matches!(
                message.get_msg_type(),
                MessageType::MsgHeartbeatResponse | MessageType::MsgReadIndex
            );
            let early = early
                || (mutant::early_append_response(self.config.mutant)
                    && message.get_msg_type() == MessageType::MsgAppendResponse);
            if (early && !votes_open) || !self.is_writing() {
                self.outbox.push(message);
            } else if !self.queued.is_empty() {
                self.queued.after.push(message);
            } else if let Some(in_flight) = &mut self.in_flight {
                in_flight.after.push(message);
            }
        }
    }

    /// True while something is being written or waits for it.
    fn is_writing(&self) -> bool {
        self.in_flight.is_some() || !self.queued.is_empty()
    }

    /// Reports readies that had nothing to write. Raft takes a number as the durability of
    /// everything before it, so this must not happen while a batch is being written or queued.
    fn report_empty(&mut self) {
        let mut may = !self.is_writing();
        if mutant::ack_later_ready(self.config.mutant) {
            may |= self.queued.is_empty();
        }
        if may {
            self.raw.on_persist_ready(self.number);
        }
    }

    /// What is to be written next, unless a batch is being written.
    pub fn take_persist(&mut self) -> Option<Persist> {
        if self.in_flight.is_some() || self.queued.is_empty() {
            return None;
        }
        let queued = std::mem::take(&mut self.queued);
        let newest = hard_state_from_raft(&self.raw.raft.hard_state());
        let hard_state = (newest != self.hard_state_written).then_some(newest);
        self.hard_state_written = newest;
        let number = queued.number;
        self.in_flight = Some(InFlight { number, votes: queued.votes, after: queued.after });
        if mutant::ack_before_sync(self.config.mutant) {
            self.raw.on_persist_ready(number);
        }
        Some(Persist { number, hard_state, entries: queued.entries })
    }

    /// The batch with this number is durable. What follows from it comes with `ready`.
    pub fn persisted(&mut self, number: u64) {
        let Some(in_flight) = self.in_flight.take() else {
            debug_assert!(false, "nothing is being written, but {number} is reported");
            return;
        };
        assert_eq!(in_flight.number, number, "another batch is being written");
        self.is_founding = false;
        self.outbox.extend(in_flight.after);
        // Readies after it that had nothing to write count too, up to the first that did.
        let upto = if self.queued.is_empty() { self.number } else { number };
        self.raw.on_persist_ready(upto);
        self.commit_early();
    }

    /// Planted bugs: a leader that does not wait for a quorum.
    fn commit_early(&mut self) {
        let (alone, small) =
            (mutant::commit_alone(self.config.mutant), mutant::small_quorum(self.config.mutant));
        if !(alone || small) || self.raw.raft.state != StateRole::Leader {
            return;
        }
        let mut matched: Vec<u64> =
            self.raw.raft.prs().iter().map(|(_, progress)| progress.matched).collect();
        matched.sort_unstable_by(|one, other| other.cmp(one));
        let wanted = if alone { 1 } else { (matched.len() / 2).max(1) };
        let index = matched[wanted - 1].min(self.raw.raft.raft_log.persisted);
        self.raw.raft.raft_log.commit_to(index);
    }

    /// Everything up to `index` was applied.
    pub fn applied(&mut self, index: Index) {
        assert!(self.applied <= index, "applied went from {} to {index}", self.applied);
        if index == self.applied {
            return;
        }
        self.applied = index;
        self.raw.advance_apply_to(index.0);
        let bytes_max = if self.is_sole_voter() { 0 } else { self.config.log_bytes_max };
        self.raw.mut_store().release(index, bytes_max);
    }

    /// State of this node.
    pub fn status(&self) -> Status {
        let raft = &self.raw.raft;
        let role = match raft.state {
            StateRole::Leader => Role::Leader,
            StateRole::Follower => Role::Follower,
            StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        };
        let leader = (raft.leader_id != raft::INVALID_ID).then_some(MemberId(raft.leader_id));
        Status {
            term: Term(raft.term),
            role,
            leader,
            committed: Index(raft.raft_log.committed),
            last: Index(raft.raft_log.last_index()),
        }
    }

    /// The commit index of the newest hard state that was handed out to be written. The commit
    /// index itself may be ahead: it is not written alone.
    pub fn commit_written(&self) -> Index {
        self.hard_state_written.commit
    }

    /// Applied index, as reported.
    pub fn applied_index(&self) -> Index {
        self.applied
    }

    /// Raft draws a new timeout from a random source of the thread whenever it resets; this puts
    /// ours in its place.
    fn set_election_timeout(&mut self) {
        let parts = [self.config.member.0, self.raw.raft.term, self.elections];
        let ticks = election_ticks(self.config.seed, parts, self.config.election_ticks);
        if self.raw.raft.randomized_election_timeout() != ticks {
            self.raw.raft.set_randomized_election_timeout(ticks);
        }
    }
}

/// The log of a founder, as if it had been read.
fn found(start: &Start) -> Start {
    let commit = start.founding.last().map_or(Index(0), |entry| entry.index);
    let term = start.founding.last().map_or(Term(0), |entry| entry.term);
    Start {
        entries: start.founding.clone(),
        hard_state: HardState { term, vote: MemberId(0), commit },
        ..start.clone()
    }
}
