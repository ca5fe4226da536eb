//! Leases on the leader: deadlines, renewals, revokes of what ran out.

use crate::config::Config;
use crate::effect::{Effect, Effects, Note};
use crate::ids::LeaseIds;
use crate::member::Member;
use crate::remote::{What, is_foreign};
use crate::request::{RequestId, Response};
use crate::waiting::Waiter;
use lease::{Expiry, Renew};
use prost::Message;
use proto::etcdserverpb::{LeaseCheckpoint, LeaseCheckpointRequest, LeaseRevokeRequest};
use proto::log::{self, Kind};
use store::LeaseFact;
use types::{LeaseId, OpError, Time, limits};

/// A renewal of a lease that ran out: answered when its revoke is applied.
#[derive(Clone, Copy, Debug)]
struct Late {
    lease: LeaseId,
    request: RequestId,
    deadline: Time,
}

/// The leader's view of leases.
#[derive(Debug)]
pub(crate) struct Leases {
    expiry: Expiry,
    ids: LeaseIds,
    late: Vec<Late>,
    /// More leases had run out than were named.
    has_more: bool,
}

impl Leases {
    pub(crate) fn new(config: &Config) -> Leases {
        let expiry = lease::Config { election_timeout: config.election, ..Default::default() };
        Leases {
            expiry: Expiry::new(expiry),
            ids: LeaseIds::new(config.member, config.boot, config.seed),
            late: Vec::new(),
            has_more: false,
        }
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.expiry.is_leading()
    }

    pub(crate) fn promote(&mut self, now: Time, table: &lease::Table) {
        self.expiry.promote(now, table);
    }

    pub(crate) fn demote(&mut self) {
        self.expiry.demote();
    }

    pub(crate) fn cancel(&mut self, request: RequestId) {
        self.late.retain(|late| late.request != request);
    }

    /// Takes the requests whose time is up.
    pub(crate) fn take_expired(&mut self, now: Time) -> Vec<RequestId> {
        self.late.extract_if(.., |late| late.deadline <= now).map(|late| late.request).collect()
    }

    /// All leases, by remaining time where the deadlines are known.
    pub(crate) fn by_remaining(&self, table: &lease::Table) -> Vec<LeaseId> {
        if self.expiry.is_leading() {
            return self.expiry.by_deadline();
        }
        let mut leases: Vec<(i64, LeaseId)> =
            table.iter().map(|(id, lease)| (lease.restart_ttl(), id)).collect();
        leases.sort_unstable();
        leases.into_iter().map(|(_, id)| id).collect()
    }
}

impl Member {
    /// The id that a grant gets: the client's, or a free one.
    pub(crate) fn lease_id(&mut self, wanted: LeaseId) -> LeaseId {
        if wanted == LeaseId(0) {
            let table = self.store.leases();
            return self.leases.ids.next(|id| table.contains(id));
        }
        wanted
    }

    /// What an applied entry did to leases.
    pub(crate) fn note_leases(&mut self, now: Time, facts: &[LeaseFact], effects: &mut Effects) {
        for fact in facts {
            match *fact {
                LeaseFact::Granted { id, ttl } => {
                    self.counters.leases_granted += 1;
                    self.leases.expiry.granted(now, id, ttl);
                    effects.push(Effect::Note(Note::LeaseGranted(ttl)));
                }
                LeaseFact::Checkpointed { id, remaining } => {
                    self.leases.expiry.checkpointed(id, remaining);
                }
                LeaseFact::Revoked(id) => {
                    self.counters.leases_revoked += 1;
                    self.leases.expiry.revoked(id);
                    let late = &mut self.leases.late;
                    let gone: Vec<Late> = late.extract_if(.., |late| late.lease == id).collect();
                    for late in gone {
                        let response = Response::LeaseKeepAlive { id, ttl: 0 };
                        self.reply(late.request, Ok(response), effects);
                    }
                }
            }
        }
    }

    /// Renews a lease; leadership was confirmed, and everything before it is applied.
    pub(crate) fn keep_alive(
        &mut self,
        now: Time,
        request: RequestId,
        id: LeaseId,
        deadline: Time,
        effects: &mut Effects,
    ) {
        match self.leases.expiry.renew(now, id) {
            Renew::Done { ttl } => {
                self.counters.leases_renewed += 1;
                self.reply(request, Ok(Response::LeaseKeepAlive { id, ttl }), effects);
            }
            Renew::Unknown => {
                self.reply(request, Ok(Response::LeaseKeepAlive { id, ttl: 0 }), effects);
            }
            // Leadership moved since it was confirmed: the next leader is asked.
            Renew::NotLeader if !is_foreign(request) => {
                self.ask_leader(request, What::KeepAlive(id), deadline);
            }
            Renew::NotLeader => self.reply(request, Err(OpError::NotPrimaryLessor), effects),
            Renew::Expired => self.leases.late.push(Late { lease: id, request, deadline }),
            Renew::NeedsClear => {
                let checkpoint = LeaseCheckpoint { id: id.0, remaining_ttl: 0 };
                let body = LeaseCheckpointRequest { checkpoints: vec![checkpoint] };
                let body = body.encode_to_vec().into();
                let waiter = Waiter::Renew(request, id);
                let fence = self.term.0;
                self.enqueue(now, deadline, waiter, Kind::LeaseCheckpoint, body, fence);
            }
        }
    }

    /// What is left of a lease; the leader alone knows.
    pub(crate) fn time_to_live(
        &mut self,
        now: Time,
        read: (RequestId, Time),
        id: LeaseId,
        with_keys: bool,
        effects: &mut Effects,
    ) {
        let (request, deadline) = read;
        if self.leases.is_leading() {
            let response = self.left_of(now, id, with_keys);
            return self.reply(request, Ok(response), effects);
        }
        if is_foreign(request) {
            return self.reply(request, Err(OpError::NotPrimaryLessor), effects);
        }
        self.ask_leader(request, What::TimeToLive { id, keys: with_keys }, deadline);
    }

    fn left_of(&self, now: Time, id: LeaseId, with_keys: bool) -> Response {
        let lease = self.store.leases().get(id);
        let left = self.leases.expiry.time_to_live(now, id);
        match (lease, left) {
            (Some(lease), Some(left)) => Response::LeaseTimeToLive {
                id,
                ttl: left.seconds,
                granted_ttl: left.ttl,
                keys: if with_keys { lease.keys().cloned().collect() } else { Vec::new() },
            },
            _ => Response::LeaseTimeToLive { id, ttl: -1, granted_ttl: 0, keys: Vec::new() },
        }
    }

    /// True if more leases have run out, and the log is free for their revokes: those before are
    /// applied, so that what others ask waits for one batch at most.
    pub(crate) fn can_expire_more(&self) -> bool {
        let is_free = || {
            let waiting = self.node.status().last.0 - self.apply.done().0;
            let is_short = waiting < limits::LEASE_REVOKES_PER_TURN as u64;
            is_short && self.proposals.queued_bytes() == 0 && !self.proposals_full()
        };
        self.leases.has_more && self.leases.is_leading() && is_free()
    }

    /// Proposes the revokes of leases that ran out, in bulk. They hold in this term only: a
    /// leader that was deposed meanwhile must not end what its successor renewed.
    pub(crate) fn expire_leases(&mut self, now: Time, effects: &mut Effects) {
        if !self.leases.is_leading() || self.proposals_full() {
            return;
        }
        let mut due = Vec::new();
        self.leases.expiry.due(now, limits::LEASE_REVOKES_PER_TURN, &mut due);
        self.leases.has_more = due.len() == limits::LEASE_REVOKES_PER_TURN;
        for id in &due {
            let body = LeaseRevokeRequest { id: id.0 }.encode_to_vec().into();
            let (kind, fence_term) = (Kind::LeaseRevoke, self.term.0);
            let fence_index = self.store.applied().0;
            let entry = log::Entry { fence_term, fence_index, kind, body, ..log::Entry::default() };
            self.proposals.push_unheard(entry.encode());
        }
        if !due.is_empty() {
            self.counters.leases_expired += due.len() as u64;
            effects.push(Effect::Note(Note::LeasesExpired(due.len())));
        }
    }
}
