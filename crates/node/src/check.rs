//! Messages of other members are checked before raft sees them: raft aborts on some of what
//! these checks refuse.

use crate::log::Log;
use raft::StateRole;
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

/// Checks a message that `from` brought against the state of raft.
pub(crate) fn check(
    message: &Message,
    from: MemberId,
    raft: &raft::Raft<Log>,
) -> Result<(), StepError> {
    if message.from != from.0 || message.to != raft.id || from.0 == raft.id {
        return Err(StepError::Malformed("not from its sender to this member"));
    }
    match message.get_msg_type() {
        MessageType::MsgHup
        | MessageType::MsgBeat
        | MessageType::MsgUnreachable
        | MessageType::MsgSnapStatus
        | MessageType::MsgCheckQuorum
        // Proposals travel with their ids, and a transfer is asked for at the leader.
        | MessageType::MsgPropose
        | MessageType::MsgTransferLeader => return Err(StepError::Local),
        MessageType::MsgSnapshot => return Err(StepError::Malformed("a snapshot on this stream")),
        _ => {}
    }
    check_numbers(message)?;
    if message.term != 0 && message.term < raft.term {
        // Raft ignores it, or answers it with its term, and looks at nothing else of it.
        return Ok(());
    }
    let last = Index(raft.raft_log.last_index());
    // A leader that lost its unsynced tail in a crash is no leader when the answers to it arrive.
    let is_leader = raft.state == StateRole::Leader && !message.reject;
    match message.get_msg_type() {
        MessageType::MsgHeartbeat if last.0 < message.commit => {
            Err(StepError::LogLost { commit: Index(message.commit), last })
        }
        MessageType::MsgReadIndex if message.entries.len() != 1 => {
            Err(StepError::Malformed("not one context"))
        }
        MessageType::MsgReadIndexResp if message.entries.len() != 1 => {
            Err(StepError::Malformed("not one context"))
        }
        MessageType::MsgAppendResponse
            if is_leader && message.term == raft.term && last.0 < message.index =>
        {
            Err(StepError::Malformed("an acknowledgement beyond the log"))
        }
        MessageType::MsgAppend => check_append(message, raft),
        _ => Ok(()),
    }
}

/// Beyond any number that is reached by counting; sums of two do not overflow.
const NUMBER_MAX: u64 = 1 << 62;

fn check_numbers(message: &Message) -> Result<(), StepError> {
    let has_term = message.get_msg_type() != MessageType::MsgReadIndex;
    if has_term != (message.term != 0) {
        return Err(StepError::Malformed("a term where none belongs, or none"));
    }
    let terms = [message.term, message.log_term, message.commit_term];
    let indexes = [message.index, message.commit, message.reject_hint];
    if terms.iter().chain(&indexes).any(|number| NUMBER_MAX <= *number) {
        return Err(StepError::Malformed("a number out of range"));
    }
    if has_term && message.term < message.log_term.max(message.commit_term) {
        return Err(StepError::Malformed("an entry of a later term than the message"));
    }
    if message.request_snapshot != 0 {
        return Err(StepError::Malformed("a snapshot is asked for"));
    }
    Ok(())
}

fn check_append(message: &Message, raft: &raft::Raft<Log>) -> Result<(), StepError> {
    let committed = Index(raft.raft_log.committed);
    let contradicts = |index: u64, term: u64| {
        // 0 stands for what is not in memory any more.
        let known = raft.raft_log.term(index).unwrap_or(0);
        index <= committed.0 && known != 0 && known != term
    };
    if (message.index == 0) != (message.log_term == 0) {
        // Raft gives term 0 to what it does not have, and would take this as a match.
        return Err(StepError::Malformed("an entry without a term"));
    }
    if contradicts(message.index, message.log_term) {
        return Err(StepError::Conflict(Index(message.index)));
    }
    if committed.0 < message.index
        && message.log_term < raft.raft_log.term(committed.0).unwrap_or(0)
    {
        // Raft would look for an entry of that term among those that are committed.
        return Err(StepError::Conflict(committed));
    }
    let (mut index, mut term) = (message.index, message.log_term);
    for entry in message.entries.iter() {
        if entry.index != index + 1 || entry.term < term.max(1) || message.term < entry.term {
            return Err(StepError::Malformed("entries out of order"));
        }
        if contradicts(entry.index, entry.term) {
            return Err(StepError::Conflict(Index(entry.index)));
        }
        (index, term) = (entry.index, entry.term);
    }
    Ok(())
}
