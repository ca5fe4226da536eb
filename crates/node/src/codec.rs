//! Raft's messages as they travel. Bytes of a peer are never given to the parser that raft brings.

use crate::StepError;
use proto::peerpb;
use raft::eraftpb::{self, Message, MessageType};

/// Which connection a message takes: those of one class do not wait behind those of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Small, and late is as bad as lost: heartbeats, votes, read indexes.
    Heartbeat,
    /// Entries and their acknowledgements.
    Append,
    /// All else.
    Other,
}

/// The messages that members send each other, with their numbers.
const TYPES: [(u32, MessageType); 12] = [
    (3, MessageType::MsgAppend),
    (4, MessageType::MsgAppendResponse),
    (5, MessageType::MsgRequestVote),
    (6, MessageType::MsgRequestVoteResponse),
    (8, MessageType::MsgHeartbeat),
    (9, MessageType::MsgHeartbeatResponse),
    (14, MessageType::MsgTimeoutNow),
    (15, MessageType::MsgReadIndex),
    (16, MessageType::MsgReadIndexResp),
    (17, MessageType::MsgRequestPreVote),
    (18, MessageType::MsgRequestPreVoteResponse),
    (7, MessageType::MsgSnapshot),
];

/// The class of a message.
pub fn class(message: &Message) -> Class {
    match message.get_msg_type() {
        MessageType::MsgAppend | MessageType::MsgAppendResponse => Class::Append,
        MessageType::MsgSnapshot => Class::Other,
        _ => Class::Heartbeat,
    }
}

/// Puts a message into its form for the way; `None` for what never travels.
pub fn encode(message: &Message) -> Option<peerpb::Raft> {
    let kind = message.get_msg_type();
    let (number, _) = TYPES.iter().find(|(_, known)| *known == kind)?;
    let entry = |entry: &eraftpb::Entry| peerpb::Entry {
        r#type: u32::from(entry.entry_type != eraftpb::EntryType::EntryNormal),
        term: entry.term,
        index: entry.index,
        data: entry.data.clone(),
    };
    Some(peerpb::Raft {
        r#type: *number,
        to: message.to,
        from: message.from,
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        entries: message.entries.iter().map(entry).collect(),
        commit: message.commit,
        reject: message.reject,
        reject_hint: message.reject_hint,
        context: message.context.clone(),
        commit_term: message.commit_term,
    })
}

/// The type of a message on its way; `None` for one that is not known.
pub fn message_type(message: &peerpb::Raft) -> Option<MessageType> {
    TYPES.iter().find(|(number, _)| *number == message.r#type).map(|(_, kind)| *kind)
}

/// Takes a message back from its form for the way.
pub fn decode(message: peerpb::Raft) -> Result<Message, StepError> {
    let kind = message_type(&message).ok_or(StepError::Malformed("an unknown type"))?;
    let entries: Vec<eraftpb::Entry> = message.entries.into_iter().map(entry).collect();
    let mut out = Message {
        to: message.to,
        from: message.from,
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        entries: entries.into(),
        commit: message.commit,
        reject: message.reject,
        reject_hint: message.reject_hint,
        context: message.context,
        commit_term: message.commit_term,
        ..Message::default()
    };
    out.set_msg_type(kind);
    Ok(out)
}

fn entry(from: peerpb::Entry) -> eraftpb::Entry {
    eraftpb::Entry {
        entry_type: match from.r#type {
            0 => eraftpb::EntryType::EntryNormal,
            _ => eraftpb::EntryType::EntryConfChange,
        },
        term: from.term,
        index: from.index,
        data: from.data,
        ..eraftpb::Entry::default()
    }
}
