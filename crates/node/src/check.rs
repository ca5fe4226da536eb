//! Messages of other members are checked before raft sees them: raft aborts on some of what
//! these checks refuse.

use crate::log::Log;
use raft::eraftpb::{Message, MessageType};
use std::fmt;
use types::{Index, MemberId};

/// Why a message was not stepped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepError {
    /// A message that only the node itself may produce.
    Local,
    /// The sender is not a member.
    UnknownSender(MemberId),
    /// A message without what its type needs, or with entries out of order.
    Malformed(&'static str),
    /// The leader knows that this node acknowledged entries which it does not have: its log lost
    /// them. It must not vote or acknowledge any more and has to be replaced.
    LogLost {
        /// What the leader takes for durable here.
        commit: Index,
        /// Where the log ends.
        last: Index,
    },
    /// An append contradicts what is committed here.
    Conflict(Index),
    /// Raft refused it.
    Refused(String),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::Local => f.write_str("a local message came from another member"),
            StepError::UnknownSender(id) => write!(f, "{:x} is not a member", id.0),
            StepError::Malformed(what) => write!(f, "malformed message: {what}"),
            StepError::LogLost { commit, last } => write!(
                f,
                "the leader committed entry {commit} with this member's acknowledgement, but its \
                 log ends at {last}: acknowledged entries were lost; replace this member"
            ),
            StepError::Conflict(index) => {
                write!(f, "an append contradicts the committed entry {index}")
            }
            StepError::Refused(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StepError {}

/// Checks a message against the log; `committed` is the commit index here.
pub(crate) fn check(message: &Message, log: &Log, committed: Index) -> Result<(), StepError> {
    let last = log.last().index;
    match message.get_msg_type() {
        MessageType::MsgHup
        | MessageType::MsgBeat
        | MessageType::MsgUnreachable
        | MessageType::MsgSnapStatus
        | MessageType::MsgCheckQuorum => Err(StepError::Local),
        MessageType::MsgHeartbeat if last.0 < message.commit => {
            Err(StepError::LogLost { commit: Index(message.commit), last })
        }
        MessageType::MsgPropose | MessageType::MsgReadIndex if message.entries.is_empty() => {
            Err(StepError::Malformed("no entry"))
        }
        MessageType::MsgReadIndexResp if message.entries.len() != 1 => {
            Err(StepError::Malformed("not one context"))
        }
        MessageType::MsgSnapshot => Err(StepError::Malformed("a snapshot on this stream")),
        MessageType::MsgAppendResponse if last.0 < message.index && !message.reject => {
            Err(StepError::Malformed("an acknowledgement beyond the log"))
        }
        MessageType::MsgAppend => check_append(message, log, committed),
        _ => Ok(()),
    }
}

fn check_append(message: &Message, log: &Log, committed: Index) -> Result<(), StepError> {
    let (mut index, mut term) = (message.index, message.log_term);
    for entry in message.entries.iter() {
        if entry.index != index + 1 || entry.term < term {
            return Err(StepError::Malformed("entries out of order"));
        }
        let known = log.term_of(Index(entry.index));
        if entry.index <= committed.0 && known.is_some_and(|known| known.0 != entry.term) {
            return Err(StepError::Conflict(Index(entry.index)));
        }
        (index, term) = (entry.index, entry.term);
    }
    Ok(())
}
