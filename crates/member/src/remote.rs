//! Questions that only the leader answers: a follower asks it, and hands its answer on.

use crate::effect::{Effect, Effects};
use crate::member::Member;
use crate::reads::{Query, Read};
use crate::request::{Request, RequestId, Response};
use node::Class;
use proto::peerpb::{self, ask::What as Wire, peer::Kind};
use std::collections::BTreeMap;
use types::{LeaseId, MemberId, OpError, Time};

/// Requests with this bit were asked by other members; drivers do not use it.
const FOREIGN: u64 = 1 << 63;

/// What only the leader knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    KeepAlive(LeaseId),
    TimeToLive { id: LeaseId, keys: bool },
    Promote(MemberId),
}

/// A question of a client of this member.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: RequestId,
    what: What,
    deadline: Time,
    /// When the leader was last asked.
    sent: Option<Time>,
}

/// Questions to the leader, and questions of others to this member.
///
/// Invariant: a question is in `open` until it is answered, whoever leads meanwhile.
#[derive(Default, Debug)]
pub(crate) struct Remote {
    sequence: u64,
    open: BTreeMap<u64, Open>,
    calls: BTreeMap<u64, (MemberId, u64)>,
}

impl Remote {
    /// Leadership moved: the next leader is asked.
    pub(crate) fn ask_again(&mut self) {
        self.open.values_mut().for_each(|open| open.sent = None);
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.open.values().any(|open| open.sent.is_none())
    }

    pub(crate) fn cancel(&mut self, id: RequestId) {
        self.open.retain(|_, open| open.id != id);
    }

    /// Takes the requests whose time is up.
    pub(crate) fn take_late(&mut self, now: Time) -> Vec<RequestId> {
        let late = self.open.extract_if(.., |_, open| open.deadline <= now);
        late.map(|(_, open)| open.id).collect()
    }

    pub(crate) fn take_all(&mut self) -> Vec<RequestId> {
        std::mem::take(&mut self.open).into_values().map(|open| open.id).collect()
    }
}

/// True if another member asked.
pub(crate) fn is_foreign(id: RequestId) -> bool {
    id.0 & FOREIGN != 0
}

impl Member {
    /// The leader is to answer this, be it this member or another.
    pub(crate) fn ask_leader(&mut self, id: RequestId, what: What, deadline: Time) {
        if self.leads() {
            return self.reads.push(read(id, what, deadline));
        }
        self.remote.sequence += 1;
        let open = Open { id, what, deadline, sent: None };
        self.remote.open.insert(self.remote.sequence, open);
    }

    /// Sends what was not sent, or so long ago that it may be lost.
    pub(crate) fn send_asks(&mut self, now: Time, effects: &mut Effects) {
        if self.remote.open.is_empty() {
            return;
        }
        if self.leads() {
            for open in std::mem::take(&mut self.remote.open).into_values() {
                self.reads.push(read(open.id, open.what, open.deadline));
            }
            return;
        }
        let Some(leader) = self.leader else { return };
        let patience = self.patience();
        let mut asks = Vec::new();
        for (sequence, open) in &mut self.remote.open {
            if open.sent.is_none_or(|sent| patience <= now.since(sent)) {
                open.sent = Some(now);
                asks.push(peerpb::Ask { sequence: *sequence, what: Some(wire(open.what)) });
            }
        }
        for ask in asks {
            self.send(leader, Class::Other, Kind::Ask(ask), effects);
        }
    }

    /// Another member asks. Only the leader answers; who gets no answer asks again.
    pub(crate) fn asked(
        &mut self,
        now: Time,
        from: MemberId,
        ask: &peerpb::Ask,
        effects: &mut Effects,
    ) {
        if !self.leads() {
            return;
        }
        let request = match ask.what {
            Some(Wire::KeepAlive(id)) => Request::LeaseKeepAlive(LeaseId(id)),
            Some(Wire::TimeToLive(id)) => Request::LeaseTimeToLive { id: LeaseId(id), keys: false },
            Some(Wire::TimeToLiveKeys(id)) => {
                Request::LeaseTimeToLive { id: LeaseId(id), keys: true }
            }
            Some(Wire::Promote(id)) => Request::MemberPromote(MemberId(id)),
            None => return,
        };
        self.remote.sequence += 1;
        let number = self.remote.sequence;
        self.remote.calls.insert(number, (from, ask.sequence));
        self.request(now, RequestId(FOREIGN | number), request, None, effects);
    }

    /// Answers to other members leave as messages. Called at the end of everything that answers.
    pub(crate) fn answer_peers(&mut self, effects: &mut Effects) {
        if self.remote.calls.is_empty() {
            return;
        }
        for effect in effects {
            let Effect::Reply { id, result, .. } = effect else { continue };
            if !is_foreign(*id) {
                continue;
            }
            let Some((to, sequence)) = self.remote.calls.remove(&(id.0 & !FOREIGN)) else {
                continue;
            };
            let told = told(sequence, result);
            let message =
                prost::Message::encode_to_vec(&peerpb::Peer { kind: Some(Kind::Told(told)) });
            *effect = Effect::Send { to, class: Class::Other, message: message.into() };
        }
    }

    /// The leader's answer.
    pub(crate) fn told(&mut self, from: MemberId, told: peerpb::Told, effects: &mut Effects) {
        // The answer of one that leads no more says nothing; its successor is asked.
        if Some(from) != self.leader || told.error == ERROR_AGAIN {
            return;
        }
        let Some(open) = self.remote.open.remove(&told.sequence) else { return };
        let response = match open.what {
            What::KeepAlive(id) => Response::LeaseKeepAlive { id, ttl: told.ttl },
            What::TimeToLive { id, .. } => Response::LeaseTimeToLive {
                id,
                ttl: told.ttl,
                granted_ttl: told.granted_ttl,
                keys: told.keys,
            },
            What::Promote(_) => Response::Members(self.members()),
        };
        let error = ERRORS.iter().find(|(number, _)| *number == told.error);
        let result = error.map_or(Ok(response), |(_, error)| Err(*error));
        self.reply(open.id, result, effects);
    }
}

/// The question as the leader asks it itself.
fn read(id: RequestId, what: What, deadline: Time) -> Read {
    let query = match what {
        What::KeepAlive(lease) => Query::KeepAlive(lease),
        What::TimeToLive { id, keys } => Query::TimeToLive { id, keys },
        What::Promote(member) => Query::Promote(member),
    };
    Read { id, query, deadline }
}

fn wire(what: What) -> Wire {
    match what {
        What::KeepAlive(id) => Wire::KeepAlive(id.0),
        What::Promote(id) => Wire::Promote(id.0),
        What::TimeToLive { id, keys: false } => Wire::TimeToLive(id.0),
        What::TimeToLive { id, keys: true } => Wire::TimeToLiveKeys(id.0),
    }
}

fn told(sequence: u64, result: &Result<Response, OpError>) -> peerpb::Told {
    let told = peerpb::Told { sequence, ..peerpb::Told::default() };
    match result {
        Ok(Response::LeaseKeepAlive { ttl, .. }) => peerpb::Told { ttl: *ttl, ..told },
        Ok(Response::LeaseTimeToLive { ttl, granted_ttl, keys, .. }) => {
            peerpb::Told { ttl: *ttl, granted_ttl: *granted_ttl, keys: keys.clone(), ..told }
        }
        Ok(Response::Members(_)) => told,
        Err(error) => {
            let number = ERRORS.iter().find(|(_, known)| known == error);
            peerpb::Told { error: number.map_or(ERROR_AGAIN, |(number, _)| *number), ..told }
        }
        Ok(_) => peerpb::Told { error: ERROR_AGAIN, ..told },
    }
}

/// The leader could not answer: who asked asks again.
const ERROR_AGAIN: u32 = 1;

/// Errors that end a question.
const ERRORS: [(u32, OpError); 5] = [
    (2, OpError::MemberNotFound),
    (3, OpError::MemberNotLearner),
    (4, OpError::LearnerNotReady),
    (5, OpError::NotEnoughStarted),
    (6, OpError::Unhealthy),
];
