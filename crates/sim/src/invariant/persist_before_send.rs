//! What a message promises is durable before it leaves (INV-6, INV-10): the vote that it asks for or
//! gives, and the entries that it acknowledges.

use crate::host::Host;
use crate::report::Violation;
use bytes::Bytes;
use member::MessageType;
use prost::Message;
use proto::peerpb::{self, peer::Kind};

pub(crate) fn check(host: &Host, message: &Bytes) -> Result<(), Violation> {
    let message = peerpb::Peer::decode(message.clone());
    let message = message.map_err(|error| violation(format!("not a message: {error}")))?;
    let Some(Kind::Raft(message)) = message.kind else { return Ok(()) };
    let Some(kind) = member::message_type(&message) else { return Ok(()) };
    let state = host.record.hard_state();
    let voted = |whom: u64| {
        // In a term that is over nobody else is voted for either.
        message.term < state.term.0 || (message.term == state.term.0 && state.vote.0 == whom)
    };
    let holds = match kind {
        MessageType::MsgRequestVote => voted(host.id.0),
        MessageType::MsgRequestVoteResponse if !message.reject => voted(message.to),
        MessageType::MsgAppendResponse if !message.reject => {
            let index = usize::try_from(message.index).unwrap_or(usize::MAX);
            message.term <= state.term.0 && index <= host.record.last()
        }
        MessageType::MsgHeartbeatResponse => message.term <= state.term.0,
        _ => true,
    };
    if holds {
        return Ok(());
    }
    let last = host.record.last();
    Err(violation(format!(
        "{kind:?} of term {}, entry {} leaves {} while {state:?} and {last} entries are durable",
        message.term, message.index, host.id
    )))
}

fn violation(text: String) -> Violation {
    Violation::new("persist_before_send", text)
}
