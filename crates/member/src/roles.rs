//! Who leads, what follows when that changes, and how leadership is handed over.

use crate::effect::{Effect, Effects, Note};
use crate::member::{Member, Stop};
use crate::request::{RequestId, Response};
use node::Role;
use std::time::Duration;
use types::{MemberId, OpError, Time};

/// A client that waits until another member leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    id: RequestId,
    to: MemberId,
    deadline: Time,
}

/// How far a leader that stops is with handing over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HandOver {
    /// There is nothing to hand over.
    No,
    /// It is asked for, and waited for until then.
    Until(Time),
}

impl Member {
    /// Sees what became of term, role and leader.
    pub(crate) fn follow_roles(&mut self, now: Time, effects: &mut Effects) {
        let status = self.node.status();
        let was_leading = self.leads();
        let is_new_term = self.term != status.term;
        let is_new_leader = self.leader != status.leader;
        if !is_new_term && !is_new_leader {
            return;
        }
        (self.term, self.leader) = (status.term, status.leader);
        if is_new_leader {
            self.leader_since = now;
            effects.push(Effect::Note(Note::LeaderChanged(status.leader)));
        }
        // What was asked of the leader of before is void, and asked again; its proposals may be
        // lost with it, and are offered again.
        self.reads.reopen();
        self.remote.ask_again();
        self.peers.forget();
        if node::mutant::new_id_again(self.config.mutant) {
            self.proposals.rename();
        }
        self.proposals.offer_again();
        if was_leading || status.role != Role::Leader {
            self.leases.demote();
        }
        if status.role == Role::Leader {
            effects.push(Effect::Note(Note::BecameLeader(status.term)));
        }
        self.transferred(effects);
    }

    /// After how long something sent to the leader may be taken for lost.
    pub(crate) fn patience(&self) -> Duration {
        self.config.election / 2
    }

    /// A client wants another member to lead.
    pub(crate) fn move_leader(
        &mut self,
        id: RequestId,
        to: MemberId,
        deadline: Time,
        effects: &mut Effects,
    ) {
        if !self.leads() {
            return self.reply(id, Err(OpError::NotLeader), effects);
        }
        if to == self.config.member {
            return self.reply(id, Ok(Response::MoveLeader), effects);
        }
        if !self.node.voters().contains(&to) {
            return self.reply(id, Err(OpError::BadLeaderTransferee), effects);
        }
        self.node.transfer_leader(to);
        self.transfers.push(Transfer { id, to, deadline });
    }

    fn transferred(&mut self, effects: &mut Effects) {
        let leader = self.leader;
        let done: Vec<Transfer> =
            self.transfers.extract_if(.., |transfer| leader == Some(transfer.to)).collect();
        for Transfer { id, .. } in done {
            self.reply(id, Ok(Response::MoveLeader), effects);
        }
    }

    pub(crate) fn expire_transfers(&mut self, now: Time, effects: &mut Effects) {
        let late: Vec<Transfer> =
            self.transfers.extract_if(.., |transfer| transfer.deadline <= now).collect();
        for Transfer { id, .. } in late {
            self.reply(id, Err(OpError::TimeoutLeaderTransfer), effects);
        }
    }

    /// A leader that stops names its successor, so that nobody has to wait for an election.
    pub(crate) fn begin_hand_over(&mut self, now: Time) {
        if self.leads()
            && let Some(to) = self.node.successor()
        {
            self.node.transfer_leader(to);
            self.hand_over = HandOver::Until(now + self.config.election);
        }
    }

    /// True while it is worth to wait: leadership has not moved, or proposals of this member's
    /// clients are on their way to the next leader.
    fn is_handing_over(&self, now: Time) -> bool {
        match self.hand_over {
            HandOver::Until(end) => now < end && (self.leads() || 0 < self.proposals.len()),
            HandOver::No => false,
        }
    }

    /// Says that the member has stopped, once what was on its way is done and flushed.
    pub(crate) fn end_if_stopped(&mut self, now: Time, effects: &mut Effects) {
        let is_busy = self.persist.is_some() || !self.apply.is_empty() || self.flush.is_busy();
        if self.stop != Stop::Asked || is_busy || self.is_handing_over(now) {
            return;
        }
        self.stop = Stop::Done;
        let waiting = self.proposals.take_if(|_| true);
        let waiting = waiting.into_iter().filter_map(|waiting| waiting.waiter.client());
        let reads = self.reads.take_if(|_| true).into_iter().map(|read| read.id);
        let transfers = self.transfers.drain(..).map(|transfer| transfer.id);
        let ended = waiting.chain(reads).chain(transfers).chain(self.remote.take_all());
        let ended: Vec<RequestId> = ended.collect();
        for id in ended {
            self.reply(id, Err(OpError::Stopped), effects);
        }
        effects.push(Effect::Stopped);
    }
}
