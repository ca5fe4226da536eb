//! What the log holds: entries and the hard state.

use bytes::Bytes;
use types::{Index, MemberId, Term};

/// An entry of the raft log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its position.
    pub index: Index,
    /// The term it was proposed in.
    pub term: Term,
    /// What it is.
    pub kind: EntryKind,
    /// Its bytes.
    pub data: Bytes,
}

/// Kinds of entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EntryKind {
    /// For the state machine.
    Normal,
    /// A change of the members, for raft.
    ConfChange,
}

/// What raft must never forget.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HardState {
    /// The highest term seen.
    pub term: Term,
    /// The member that got this one's vote in that term; 0 for none.
    pub vote: MemberId,
    /// The highest index known to be committed.
    pub commit: Index,
}
