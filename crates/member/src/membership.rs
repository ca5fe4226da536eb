//! Who is a member: what a start finds, and what changes it.

use crate::config::{Config, Founder, StartError};
use crate::effect::{Effect, Effects, Note};
use crate::identity;
use crate::ids::proposer;
use crate::member::{Member, Stop};
use crate::remote::What;
use crate::request::{Request, RequestId, Response};
use crate::waiting::{Waiter, Waiting};
use bytes::Bytes;
use node::Standing;
use proto::conf::{Action, ConfChange};
use std::collections::{BTreeMap, BTreeSet};
use store::{ConfOutcome, Outcome, Store};
use types::{Index, MemberId, OpError, Term, Time, limits};

/// Between voters and learners in what the backend stores.
const NOBODY: MemberId = MemberId(0);

/// The members that the log begins with. Its own first entries tell, whatever the settings say
/// by now; without such entries this member founded alone. A fresh log has those of the settings.
pub(crate) fn founders(config: &Config, log: &wal::Recovered) -> Vec<Founder> {
    if log.base.index != Index(0) || log.entries.is_empty() {
        return config.founders();
    }
    let told: Vec<Founder> = log.entries.iter().map_while(founder).collect();
    match told.is_empty() && !config.joins {
        true => vec![Founder { id: config.member, peer_urls: config.peer_urls.clone() }],
        false => told,
    }
}

/// Puts the founders into a store without members: the first flush makes them durable; until then
/// every start does it.
pub(crate) fn seed(founders: &[Founder], store: &mut Store) {
    if store.members().next().is_some() {
        return;
    }
    for Founder { id, peer_urls } in founders.iter().cloned() {
        store.set_member(store::MemberRow { id, peer_urls, ..store::MemberRow::default() });
    }
}

/// The founder that an entry adds.
fn founder(entry: &wal::Entry) -> Option<Founder> {
    if entry.kind != wal::EntryKind::ConfChange {
        return None;
    }
    match ConfChange::decode(&entry.data).ok()? {
        ConfChange { id: 0, member: id, action: Action::Add(peer_urls) } => {
            Some(Founder { id, peer_urls })
        }
        _ => None,
    }
}

/// Raft's voters and learners at the applied index: as stored, the founders on a fresh disk, or
/// nobody at a member that joins.
pub(crate) fn at_start(
    config: &Config,
    founders: &[Founder],
    store: &Store,
) -> Result<(Vec<MemberId>, Vec<MemberId>), StartError> {
    if store.is_removed(config.member) {
        return Err(StartError::Removed(config.member));
    }
    let stored = &store.reader().meta().conf_state;
    if store.applied() == Index(0) && stored.is_empty() {
        let founders: Vec<MemberId> = founders.iter().map(|founder| founder.id).collect();
        if !config.joins && !founders.contains(&config.member) {
            return Err(StartError::NotAMember(config.member));
        }
        return Ok((founders, Vec::new()));
    }
    let chunks = stored.chunks_exact(8);
    if !chunks.remainder().is_empty() {
        return Err(StartError::ConfState);
    }
    let id = |chunk: &[u8]| MemberId(chunk.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)));
    let ids: Vec<MemberId> = chunks.map(id).collect();
    let mut parts = ids.split(|id| *id == NOBODY);
    let mut part = || parts.next().unwrap_or_default().to_vec();
    Ok((part(), part()))
}

/// The entries that a cluster of several founders begins with, as etcd has them.
pub(crate) fn founding(founders: &[Founder]) -> Vec<wal::Entry> {
    let mut founders = founders.to_vec();
    if founders.len() < 2 {
        return Vec::new();
    }
    founders.sort_by_key(|founder| founder.id);
    let entry = |(index, founder): (u64, Founder)| {
        let action = Action::Add(founder.peer_urls);
        let data = ConfChange { id: 0, member: founder.id, action }.encode();
        wal::Entry { index: Index(index), term: Term(1), kind: wal::EntryKind::ConfChange, data }
    };
    (1..).zip(founders).map(entry).collect()
}

/// Ids of requests begin with the last two bytes of the member's: these must tell members apart.
pub(crate) fn check_proposers(founders: &[Founder], store: &Store) -> Result<(), StartError> {
    let mut ids: BTreeSet<MemberId> = store.members().map(|row| row.id).collect();
    if ids.is_empty() {
        ids = founders.iter().map(|founder| founder.id).collect();
    }
    let mut seen = BTreeMap::new();
    for id in ids {
        if let Some(other) = seen.insert(proposer(id), id) {
            return Err(StartError::SameProposer(other, id));
        }
    }
    Ok(())
}

/// A member that is to join.
struct Joining {
    peer_urls: Vec<String>,
    is_learner: bool,
    seconds: u64,
}

impl Member {
    /// What the backend stores of raft's membership: the voters, big-endian, and the learners
    /// after an id of 0.
    pub(crate) fn conf_state(&self) -> Bytes {
        let mut ids = self.node.voters();
        let learners = self.node.learners();
        if !learners.is_empty() {
            ids.push(NOBODY);
            ids.extend(learners);
        }
        ids.iter().flat_map(|id| id.0.to_be_bytes()).collect()
    }

    /// A client wants the membership changed.
    pub(crate) fn request_change(
        &mut self,
        now: Time,
        to: (RequestId, Time),
        request: Request,
        effects: &mut Effects,
    ) {
        match request {
            Request::MemberAdd { peer_urls, is_learner, seconds } => {
                let joining = Joining { peer_urls, is_learner, seconds };
                self.add_member(now, to, joining, effects);
            }
            Request::MemberRemove(member) => {
                self.change_member(now, to, member, Action::Remove, effects);
            }
            Request::MemberUpdate { id, peer_urls } => {
                self.change_member(now, to, id, Action::Update(peer_urls), effects);
            }
            Request::MemberPromote(member) => {
                self.ask_leader(to.0, What::Promote(member), to.1);
            }
            other => unreachable!("{other:?} changes no member"),
        }
    }

    fn add_member(
        &mut self,
        now: Time,
        request: (RequestId, Time),
        joining: Joining,
        effects: &mut Effects,
    ) {
        let Joining { peer_urls, is_learner, seconds } = joining;
        // Ids whose proposals could not be told from those of another member are passed over.
        let is_free =
            |id: &MemberId| self.store.members().all(|row| proposer(row.id) != proposer(*id));
        let mut ids = (0..).map(|more| identity::joining_member_id(&peer_urls, seconds + more));
        let id = ids.find(is_free).expect("few of all ids are taken");
        let action = match is_learner {
            true => Action::AddLearner(peer_urls),
            false => Action::Add(peer_urls),
        };
        self.change_member(now, request, id, action, effects);
    }

    /// Proposes a membership change, unless it could cost the quorum.
    pub(crate) fn change_member(
        &mut self,
        now: Time,
        request: (RequestId, Time),
        member: MemberId,
        action: Action,
        effects: &mut Effects,
    ) {
        let (request, deadline) = request;
        let checked = match &action {
            Action::Add(_) => self.may_add(now),
            Action::AddLearner(_) => self.may_add_learner(now),
            Action::Remove => self.may_remove(now, member),
            Action::Promote => self.may_promote(member),
            Action::Update(_) => Ok(()),
        };
        if let Err(error) = checked {
            return self.reply(request, Err(error), effects);
        }
        let change = ConfChange { id: self.proposals.next_id(), member, action };
        let waiting = Waiting { waiter: Waiter::Client(request), started: now, deadline };
        self.proposals.push_conf(change.encode(), waiting);
    }

    fn may_add(&self, now: Time) -> Result<(), OpError> {
        let voters = self.node.voters().len();
        if !self.config.strict_reconfig || voters == 1 {
            return Ok(());
        }
        if self.started(None) < quorum(voters + 1) {
            return Err(OpError::NotEnoughStarted);
        }
        self.check_connected(now, quorum(voters + 1))
    }

    fn may_add_learner(&self, now: Time) -> Result<(), OpError> {
        if self.config.learners_max <= self.node.learners().len() {
            return Err(OpError::TooManyLearners);
        }
        let voters = self.node.voters().len();
        if !self.config.strict_reconfig || voters == 1 {
            return Ok(());
        }
        self.check_connected(now, quorum(voters + 1))
    }

    fn may_remove(&self, now: Time, member: MemberId) -> Result<(), OpError> {
        let voters = self.node.voters();
        if !self.config.strict_reconfig || !voters.contains(&member) {
            return Ok(());
        }
        let quorum = quorum(voters.len() - 1);
        if self.started(Some(member)) < quorum {
            return Err(OpError::NotEnoughStarted);
        }
        let is_down = member != self.config.member && !self.connected.contains_key(&member);
        if is_down { Ok(()) } else { self.check_connected(now, quorum + 1) }
    }

    /// A learner is ready once it has nine tenths of the leader's log.
    fn may_promote(&self, member: MemberId) -> Result<(), OpError> {
        let own = self.node.matched(self.config.member).unwrap_or_default();
        let matched = self.node.matched(member).ok_or(OpError::MemberNotFound)?;
        if matched.0.saturating_mul(10) < own.0.saturating_mul(9) {
            return Err(OpError::LearnerNotReady);
        }
        let voters = self.node.voters().len();
        if self.config.strict_reconfig && self.started(None) + 1 < quorum(voters + 1) {
            return Err(OpError::NotEnoughStarted);
        }
        Ok(())
    }

    /// Voters that have published themselves, without one of them.
    fn started(&self, without: Option<MemberId>) -> usize {
        let counts = |row: &&store::MemberRow| {
            !row.is_learner && !row.name.is_empty() && Some(row.id) != without
        };
        self.store.members().filter(counts).count()
    }

    /// Enough voters must have been connected for a while, this member among them.
    fn check_connected(&self, now: Time, wanted: usize) -> Result<(), OpError> {
        let is_connected = |id: &&MemberId| {
            let since = self.connected.get(id);
            **id == self.config.member
                || since.is_some_and(|since| limits::HEALTH_INTERVAL <= now.since(*since))
        };
        let count = self.node.voters().iter().filter(is_connected).count();
        if count < wanted { Err(OpError::Unhealthy) } else { Ok(()) }
    }

    /// Raft follows what was applied.
    pub(crate) fn follow_conf(
        &mut self,
        now: Time,
        member: MemberId,
        outcome: ConfOutcome,
        effects: &mut Effects,
    ) {
        match outcome {
            ConfOutcome::Voter => self.node.change(member, Standing::Voter),
            ConfOutcome::Learner => self.node.change(member, Standing::Learner),
            ConfOutcome::Removed => self.node.change(member, Standing::Gone),
            ConfOutcome::Updated => {}
        }
        effects.push(Effect::Note(Note::MembersChanged));
        if outcome == ConfOutcome::Removed && member == self.config.member {
            self.was_removed(now, effects);
        }
    }

    /// This member is none any more: it stops.
    pub(crate) fn was_removed(&mut self, now: Time, effects: &mut Effects) {
        if self.stop == Stop::No {
            effects.push(Effect::Note(Note::Removed));
            self.stop = Stop::Asked;
            self.begin_hand_over(now);
        }
    }

    /// The answer to a change.
    pub(crate) fn members_response(&self, outcome: &Outcome) -> Response {
        let members = self.members();
        let joined = match outcome {
            // A learner that is promoted has published itself; one that joins has not.
            Outcome::Conf(id, ConfOutcome::Learner | ConfOutcome::Voter) => {
                members.iter().find(|it| it.id == *id && it.name.is_empty()).cloned()
            }
            _ => None,
        };
        match joined {
            Some(joined) => Response::MemberAdded(joined, members),
            None => Response::Members(members),
        }
    }
}

fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}
