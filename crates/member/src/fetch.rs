//! Cold records on their way into memory, and who needs them.

use crate::effect::{Effect, Effects};
use crate::member::Member;
use crate::reads::{Query, Read};
use crate::request::{RequestId, Response, Ticket};
use proto::conf::Action;
use store::CatchUp;
use types::{OpError, Record, Revision, Time};

/// Who needs cold records.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fetch {
    /// The entry that is applied next.
    Apply,
    /// A read.
    Query(Read),
    /// The watchers that are behind.
    CatchUp,
}

/// Fetches under way.
#[derive(Default, Debug)]
pub(crate) struct Fetches {
    running: Vec<(Ticket, Fetch)>,
}

impl Fetches {
    /// Takes the requests of reads for which `ends` is true; what they fetch is dropped.
    pub(crate) fn take_if(&mut self, ends: impl Fn(&Read) -> bool) -> Vec<RequestId> {
        let is_over = |(_, fetch): &mut (Ticket, Fetch)| match fetch {
            Fetch::Query(read) => ends(read),
            Fetch::Apply | Fetch::CatchUp => false,
        };
        let request = |(_, fetch): (Ticket, Fetch)| match fetch {
            Fetch::Query(read) => Some(read.id),
            Fetch::Apply | Fetch::CatchUp => None,
        };
        self.running.extract_if(.., is_over).filter_map(request).collect()
    }
}

impl Member {
    pub(crate) fn fetch(&mut self, fetch: Fetch, revisions: Vec<Revision>, effects: &mut Effects) {
        let ticket = self.ticket();
        self.fetches.running.push((ticket, fetch));
        let reader = self.store.reader().clone();
        effects.push(Effect::Fetch { ticket, reader, revisions });
    }

    /// Records are here: who needs them goes on before anything else uses them up.
    pub(crate) fn fetched(
        &mut self,
        now: Time,
        ticket: Ticket,
        records: Vec<Record>,
        effects: &mut Effects,
    ) {
        let is_it = |(running, _): &(Ticket, Fetch)| *running == ticket;
        let Some(at) = self.fetches.running.iter().position(is_it) else { return };
        let (_, fetch) = self.fetches.running.swap_remove(at);
        self.store.warm(records);
        match fetch {
            Fetch::Apply => self.apply_fetched(now, effects),
            Fetch::Query(read) => self.answer_read(now, read, effects),
            Fetch::CatchUp => {
                let next = self.store.catch_up();
                self.watches_reading(None);
                self.caught_up(next, effects);
            }
        }
    }

    /// Answers a read from the state as it is.
    pub(crate) fn answer_read(&mut self, now: Time, read: Read, effects: &mut Effects) {
        let cold = match &read.query {
            Query::Range(op) => self.store.needs_for_range(op),
            Query::ReadTxn(op) => self.store.needs_for_txn(op),
            _ => Vec::new(),
        };
        if !cold.is_empty() {
            return self.fetch(Fetch::Query(read), cold, effects);
        }
        let id = read.id;
        let result: Result<Response, OpError> = match read.query {
            Query::Range(op) => self.store.range(&op).map(Response::Range),
            Query::ReadTxn(op) => self.store.read_txn(&op).map(Response::Txn),
            Query::KeepAlive(lease) => {
                return self.keep_alive(now, id, lease, read.deadline, effects);
            }
            Query::TimeToLive { id: lease, keys } => {
                return self.time_to_live(now, (id, read.deadline), lease, keys, effects);
            }
            Query::Promote(member) => {
                // The leader promotes, for it alone knows how far a learner is.
                let request = (id, read.deadline);
                return self.change_member(now, request, member, Action::Promote, effects);
            }
            Query::Members => Ok(Response::Members(self.members())),
            Query::Barrier => Ok(Response::Barrier),
        };
        self.reply(id, result, effects);
    }

    /// What catching up came to.
    pub(crate) fn caught_up(&mut self, next: CatchUp, effects: &mut Effects) {
        match next {
            CatchUp::Idle | CatchUp::Progressed => {}
            CatchUp::Fetch(revisions) => {
                self.watches_reading(Some(0));
                self.fetch(Fetch::CatchUp, revisions, effects);
            }
            CatchUp::History { from, to, bytes_max } => {
                self.watches_reading(Some(from));
                let ticket = self.ticket();
                let reader = self.store.reader().clone();
                effects.push(Effect::History { ticket, reader, from, to, bytes_max });
            }
        }
    }
}
