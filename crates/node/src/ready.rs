//! What a node hands out.

use raft::eraftpb::Message;
use types::Index;
use wal::{Entry, HardState};

/// What can be done now; nothing in it waits for the disk any more.
#[derive(Default, Debug)]
pub struct Ready {
    /// Messages to other members.
    pub messages: Vec<Message>,
    /// Committed, locally durable entries, in order, each handed out once.
    pub committed: Vec<Entry>,
    /// Reads whose index was confirmed.
    pub reads: Vec<ReadConfirmed>,
    /// True if leader or role may have changed.
    pub role_changed: bool,
}

/// A batch to write and sync; `Node::persisted` with its number follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Persist {
    /// Number of the last ready whose entries are in it.
    pub number: u64,
    /// The newest hard state, if it is not durable yet.
    pub hard_state: Option<HardState>,
    /// Entries in the order in which they were appended; a lower index replaces what was there.
    pub entries: Vec<Entry>,
}

/// Names one attempt to confirm a read index: never used twice, not across restarts either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReadContext {
    /// Who asked.
    pub member: u64,
    /// In which life.
    pub boot: u64,
    /// In which term.
    pub term: u64,
    /// Which attempt.
    pub sequence: u64,
}

impl ReadContext {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let fields = [self.member, self.boot, self.term, self.sequence];
        fields.iter().flat_map(|field| field.to_be_bytes()).collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<ReadContext> {
        let bytes: &[u8; 32] = bytes.try_into().ok()?;
        let mut fields = [0u64; 4];
        for (field, chunk) in fields.iter_mut().zip(bytes.chunks_exact(8)) {
            *field = u64::from_be_bytes(chunk.try_into().ok()?);
        }
        let [member, boot, term, sequence] = fields;
        Some(ReadContext { member, boot, term, sequence })
    }
}

/// A read index that was confirmed: reads that waited for this context may be served once
/// everything up to `index` is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadConfirmed {
    /// The attempt.
    pub context: ReadContext,
    /// The index to wait for.
    pub index: Index,
}
