//! Requests of clients: what each needs, and how its wait ends early.

use crate::effect::Effects;
use crate::hashes::Kind as HashKind;
use crate::member::{Alarm, Member, Publish, Stop};
use crate::reads::{Query, Read};
use crate::remote::What;
use crate::request::{
    AlarmAction, MemberInfo, Request, RequestId, Response, StatusInfo, WriteKind,
};
use crate::waiting::{Waiter, Waiting};
use bytes::Bytes;
use prost::Message;
use proto::log::{self, Kind};
use proto::{etcdserverpb, membershippb};
use types::{LeaseId, Op, OpError, Time, TxnOp, limits};

/// The version that this build brings a cluster to.
const CLUSTER_VERSION: &str = "3.7.0";
/// More than what an entry has around a request.
const ENTRY_OVERHEAD_BYTES_MAX: usize = 64;

impl Member {
    /// True if a write of this cost does not fit into the quota. Refusing it for that raises the
    /// alarm.
    pub fn over_quota(&mut self, cost: i64) -> bool {
        let is_over = self.store.over_quota(cost);
        if is_over {
            self.want_alarm();
        }
        is_over
    }

    pub(crate) fn request(
        &mut self,
        now: Time,
        id: RequestId,
        request: Request,
        deadline: Option<Time>,
        effects: &mut Effects,
    ) {
        if self.stop != Stop::No {
            return self.reply(id, Err(OpError::Stopped), effects);
        }
        let longest = now + self.config.request_timeout();
        let deadline = deadline.map_or(longest, |deadline| deadline.min(longest));
        let query = match request {
            Request::Range(op) if op.serializable => {
                let read = Read { id, query: Query::Range(op), deadline };
                return self.answer_read(now, read, effects);
            }
            Request::ReadTxn(op) if is_serializable(&op) => {
                let read = Read { id, query: Query::ReadTxn(op), deadline };
                return self.answer_read(now, read, effects);
            }
            Request::MemberList { linearizable: false } => {
                let read = Read { id, query: Query::Members, deadline };
                return self.answer_read(now, read, effects);
            }
            Request::Range(op) => Query::Range(op),
            Request::ReadTxn(op) => Query::ReadTxn(op),
            Request::LeaseKeepAlive(lease) => {
                return self.ask_leader(id, What::KeepAlive(lease), deadline);
            }
            Request::LeaseTimeToLive { id: lease, keys } => {
                return self.ask_leader(id, What::TimeToLive { id: lease, keys }, deadline);
            }
            Request::MemberList { linearizable: true } => Query::Members,
            Request::Barrier => Query::Barrier,
            other => return self.request_other(now, id, other, deadline, effects),
        };
        self.reads.push(Read { id, query, deadline });
    }

    /// Requests that are not reads.
    fn request_other(
        &mut self,
        now: Time,
        id: RequestId,
        request: Request,
        deadline: Time,
        effects: &mut Effects,
    ) {
        match request {
            Request::Write { kind, body, quota_cost } => {
                let takes_space = kind == WriteKind::Put || 0 < quota_cost;
                if self.disk_full && takes_space {
                    return self.reply(id, Err(OpError::NoSpace), effects);
                }
                let kind = match kind {
                    WriteKind::Put => Kind::Put,
                    WriteKind::DeleteRange => Kind::DeleteRange,
                    WriteKind::Txn => Kind::Txn,
                };
                self.propose(now, id, deadline, kind, body, effects);
            }
            Request::Compact { revision, physical } => {
                let body = etcdserverpb::CompactionRequest { revision, physical };
                let body = body.encode_to_vec().into();
                let waiter = if physical { Waiter::Physical(id) } else { Waiter::Client(id) };
                self.propose_for(now, waiter, deadline, Kind::Compaction, body, effects);
            }
            Request::LeaseGrant { id: lease, ttl } => {
                self.grant(now, id, lease, ttl, deadline, effects);
            }
            Request::LeaseRevoke(lease) => {
                let body = etcdserverpb::LeaseRevokeRequest { id: lease.0 }.encode_to_vec();
                self.propose(now, id, deadline, Kind::LeaseRevoke, body.into(), effects);
            }
            Request::Alarm { action, member, kind } => {
                let action = match action {
                    AlarmAction::Get => 0,
                    AlarmAction::Activate => 1,
                    AlarmAction::Deactivate => 2,
                };
                let alarm = kind.number();
                let body = etcdserverpb::AlarmRequest { action, member_id: member.0, alarm };
                self.propose(now, id, deadline, Kind::Alarm, body.encode_to_vec().into(), effects);
            }
            Request::LeaseLeases => {
                let leases = self.leases.by_remaining(self.store.leases());
                self.reply(id, Ok(Response::LeaseLeases(leases)), effects);
            }
            Request::MemberAdd { .. }
            | Request::MemberRemove(_)
            | Request::MemberUpdate { .. }
            | Request::MemberPromote(_) => {
                self.request_change(now, (id, deadline), request, effects);
            }
            Request::Status => self.reply(id, Ok(Response::Status(self.status())), effects),
            Request::Hash => self.hash(id, HashKind::Hash, 0, effects),
            Request::HashKv(revision) => self.hash(id, HashKind::HashKv, revision, effects),
            Request::Defragment => self.compaction.defragment(id),
            Request::MoveLeader(to) => {
                self.move_leader(id, to, deadline, effects);
            }
            // Reads were taken before.
            Request::Range(_)
            | Request::ReadTxn(_)
            | Request::LeaseKeepAlive(_)
            | Request::LeaseTimeToLive { .. }
            | Request::MemberList { .. }
            | Request::Barrier => {}
        }
    }

    /// The lease's id and its TTL are decided here, not at apply: members may differ in their
    /// election timeout.
    fn grant(
        &mut self,
        now: Time,
        id: RequestId,
        lease: LeaseId,
        ttl: i64,
        deadline: Time,
        effects: &mut Effects,
    ) {
        if limits::LEASE_TTL_MAX < ttl {
            return self.reply(id, Err(OpError::LeaseTtlTooLarge), effects);
        }
        if self.disk_full {
            return self.reply(id, Err(OpError::NoSpace), effects);
        }
        let ttl = lease::granted_ttl(ttl, self.config.heartbeat, self.config.election);
        let lease = self.lease_id(lease).0;
        let body = etcdserverpb::LeaseGrantRequest { ttl, id: lease }.encode_to_vec();
        self.propose(now, id, deadline, Kind::LeaseGrant, body.into(), effects);
    }

    /// Proposes for a client.
    fn propose(
        &mut self,
        now: Time,
        id: RequestId,
        deadline: Time,
        kind: Kind,
        body: Bytes,
        effects: &mut Effects,
    ) {
        self.propose_for(now, Waiter::Client(id), deadline, kind, body, effects);
    }

    /// Proposes, unless too much is under way or the entry is too large.
    fn propose_for(
        &mut self,
        now: Time,
        waiter: Waiter,
        deadline: Time,
        kind: Kind,
        body: Bytes,
        effects: &mut Effects,
    ) {
        let refused = if self.proposals_full() {
            Some(OpError::TooManyRequests)
        } else if self.is_too_large(kind, &body) {
            Some(OpError::RequestTooLarge)
        } else {
            None
        };
        match (refused, waiter.client()) {
            (Some(error), Some(id)) => self.reply(id, Err(error), effects),
            (Some(_), None) => {}
            (None, _) => self.enqueue(now, deadline, waiter, kind, body, 0),
        }
    }

    /// True while no further proposal is taken.
    pub(crate) fn proposals_full(&self) -> bool {
        let lag = self.node.status().committed.0.saturating_sub(self.apply.done().0);
        limits::APPLY_LAG_MAX < lag
            || limits::PROPOSALS_MAX <= self.proposals.len()
            || limits::PROPOSALS_BYTES_MAX <= self.proposals.queued_bytes()
    }

    fn entry(&self, kind: Kind, body: Bytes, fence_term: u64) -> log::Entry {
        let (id, floor) = (self.proposals.next_id(), self.proposals.floor());
        let fence_index = if fence_term == 0 { 0 } else { self.store.applied().0 };
        log::Entry { id, floor, fence_term, fence_index, kind, body }
    }

    /// True if the entry that etcd would propose is larger than a request may be.
    fn is_too_large(&self, kind: Kind, body: &Bytes) -> bool {
        let limit = self.config.request_bytes_max;
        if body.len() + ENTRY_OVERHEAD_BYTES_MAX <= limit {
            return false;
        }
        let entry = log::Entry { floor: 0, ..self.entry(kind, body.clone(), 0) };
        limit < entry.encode().len()
    }

    /// Queues an entry until the turn proposes it.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        deadline: Time,
        waiter: Waiter,
        kind: Kind,
        body: Bytes,
        fence_term: u64,
    ) {
        let entry = self.entry(kind, body, fence_term).encode();
        self.proposals.push(entry, Waiting { waiter, started: now, deadline });
    }

    fn leads_or_follows(&self) -> bool {
        self.node.status().leader.is_some()
    }

    /// Asks for one read index for all reads that wait.
    pub(crate) fn ask_read_index(&mut self, now: Time) {
        if node::mutant::stale_read(self.config.mutant) && !self.leads() {
            self.reads.confirm_open(self.apply.done());
        }
        let slow = self.reads.retry(now, limits::READ_INDEX_RETRY);
        self.counters.read_indexes_slow += slow;
        self.reads.rest();
        if self.reads.has_open()
            && let Some(context) = self.node.read_index()
        {
            self.reads.asked(context, now);
        }
    }

    /// Answers the reads for which enough is applied.
    pub(crate) fn answer_reads(&mut self, now: Time, effects: &mut Effects) {
        for read in self.reads.take_ready(self.apply.done()) {
            self.answer_read(now, read, effects);
        }
    }

    /// Ends the waits whose time is up.
    pub(crate) fn expire_waits(&mut self, now: Time, effects: &mut Effects) {
        for waiting in self.proposals.take_if(|waiting| waiting.deadline <= now) {
            self.counters.proposals_failed += 1;
            if let Some(id) = waiting.waiter.client() {
                let error = self.timeout(waiting.started);
                self.reply(id, Err(error), effects);
            }
            self.forget(waiting.waiter);
        }
        for read in self.reads.take_if(|read| read.deadline <= now) {
            self.counters.read_indexes_failed += 1;
            self.reply(read.id, Err(OpError::Timeout), effects);
        }
        for id in self.fetches.take_if(|read| read.deadline <= now) {
            self.reply(id, Err(OpError::Timeout), effects);
        }
        for id in self.leases.take_expired(now) {
            self.reply(id, Err(OpError::Timeout), effects);
        }
        for id in self.remote.take_late(now) {
            let error = if self.leader.is_none() { OpError::NoLeader } else { OpError::Timeout };
            self.reply(id, Err(error), effects);
        }
        self.expire_transfers(now, effects);
    }

    /// What the member itself waited for is tried again.
    fn forget(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Alarm => self.alarm = Alarm::Idle,
            Waiter::Publish if self.publish == Publish::Proposed => self.publish = Publish::Open,
            Waiter::AutoCompaction(_) => {
                if let Some(compactor) = &mut self.compactor {
                    compactor.failed();
                }
            }
            _ => {}
        }
    }

    /// Why a proposal that began at `started` was not answered in time (contract §2.5).
    fn timeout(&self, started: Time) -> OpError {
        let window = 2 * self.config.election;
        if self.leader.is_none() {
            return OpError::TimeoutConnectionLost;
        }
        let is_before_election = started < self.leader_since;
        if is_before_election && self.leader_since.since(started) < window {
            return OpError::TimeoutLeaderFail;
        }
        OpError::Timeout
    }

    pub(crate) fn cancel(&mut self, id: RequestId) {
        if self.proposals.cancel(id) {
            self.counters.proposals_failed += 1;
            return;
        }
        self.reads.take_if(|read| read.id == id);
        self.fetches.take_if(|read| read.id == id);
        self.leases.cancel(id);
        self.remote.cancel(id);
        self.hashes.cancel(id);
        self.compaction.cancel(id);
    }

    pub(crate) fn want_alarm(&mut self) {
        if self.alarm == Alarm::Idle {
            self.alarm = Alarm::Wanted;
        }
    }

    /// Raises the NOSPACE alarm of this member through the log.
    pub(crate) fn raise_alarm(&mut self, now: Time) {
        if self.alarm != Alarm::Wanted || !self.leads_or_follows() {
            return;
        }
        let mine = (self.config.member, store::AlarmKind::NoSpace);
        if self.store.alarms(Some(mine.1)).contains(&mine) {
            self.alarm = Alarm::Idle;
            return;
        }
        self.alarm = Alarm::Proposed;
        let (action, alarm) = (1, mine.1.number());
        let body = etcdserverpb::AlarmRequest { action, member_id: mine.0.0, alarm };
        let deadline = now + self.config.request_timeout();
        let body = body.encode_to_vec().into();
        self.enqueue(now, deadline, Waiter::Alarm, Kind::Alarm, body, 0);
    }

    /// Tells the cluster this member's name and where clients reach it.
    pub(crate) fn publish(&mut self, now: Time) {
        let may = if self.leads() { self.leases.is_leading() } else { self.leader.is_some() };
        if self.publish != Publish::Open || !may {
            return;
        }
        self.publish = Publish::Proposed;
        let deadline = now + self.config.request_timeout();
        let attributes = membershippb::Attributes {
            name: self.config.name.clone(),
            client_urls: self.config.client_urls.clone(),
        };
        let body = membershippb::ClusterMemberAttrSetRequest {
            member_id: self.config.member.0,
            member_attributes: Some(attributes),
        };
        let body = body.encode_to_vec().into();
        self.enqueue(now, deadline, Waiter::Publish, Kind::ClusterMemberAttrSet, body, 0);
    }

    /// The leader decides the cluster version if nobody did.
    pub(crate) fn decide_version(&mut self) {
        let is_decided = self.store.cluster_version() == Some(CLUSTER_VERSION);
        if is_decided || !self.leases.is_leading() || self.version_proposed == self.term {
            return;
        }
        self.version_proposed = self.term;
        let body = membershippb::ClusterVersionSetRequest { ver: CLUSTER_VERSION.to_owned() };
        let kind = Kind::ClusterVersionSet;
        let entry = log::Entry { kind, body: body.encode_to_vec().into(), ..log::Entry::default() };
        self.proposals.push_unheard(entry.encode());
    }

    /// Compacts by itself, if so configured.
    pub(crate) fn auto_compact(&mut self, now: Time) {
        let (revision, leads) = (self.store.revision(), self.leases.is_leading());
        let Some(compactor) = &mut self.compactor else { return };
        let Some(revision) = compactor.tick(now, revision, leads) else { return };
        let body = etcdserverpb::CompactionRequest { revision, physical: false };
        let body = body.encode_to_vec().into();
        let deadline = now + self.config.request_timeout();
        let waiter = Waiter::AutoCompaction(revision);
        self.enqueue(now, deadline, waiter, Kind::Compaction, body, 0);
    }

    /// State of this member.
    fn status(&self) -> StatusInfo {
        let node = self.node.status();
        let figures = self.store.figures();
        StatusInfo {
            db_size: i64::try_from(self.store.reader().size()).unwrap_or(i64::MAX),
            db_size_in_use: figures.live_bytes,
            db_size_quota: figures.quota_bytes.max(0),
            leader: node.leader.unwrap_or_default(),
            raft_index: node.committed.0,
            applied_index: self.apply.done().0,
            alarms: self
                .store
                .alarms(None)
                .into_iter()
                .filter_map(|(member, kind)| Some((member, u32::try_from(kind.number()).ok()?)))
                .collect(),
            is_learner: self.node.learners().contains(&self.config.member),
        }
    }

    pub(crate) fn members(&self) -> Vec<MemberInfo> {
        let info = |row: &store::MemberRow| MemberInfo {
            id: row.id,
            name: row.name.clone(),
            peer_urls: row.peer_urls.clone(),
            client_urls: row.client_urls.clone(),
            is_learner: row.is_learner,
        };
        self.store.members().map(info).collect()
    }
}

/// True if every range inside may be answered from the local state.
fn is_serializable(txn: &TxnOp) -> bool {
    txn.success.iter().chain(&txn.failure).all(|op| match op {
        Op::Range(range) => range.serializable,
        Op::Txn(txn) => is_serializable(txn),
        Op::Put(_) | Op::Delete(_) => false,
    })
}
