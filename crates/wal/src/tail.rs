//! What the log says at its end, advanced batch by batch.
//!
//! Writer and recovery share it, so that each rule is checked before a batch is written and again
//! when it is read.

use crate::segment::NUMBER_MAX;
use crate::{Batch, Entry, Frame, HardState, Install, Position};
use bytes::Bytes;
use types::limits::WAL_MEMBERSHIP_BYTES_MAX;
use types::{Index, MemberId, Term};

/// State of the log after its last batch.
///
/// Invariant: `trimmed <= hard_state.commit <= last.index`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tail {
    /// Number of the last batch; 0 before the first.
    pub(crate) batch: u64,
    /// Chain value after it.
    pub(crate) chain: u32,
    pub(crate) hard_state: HardState,
    pub(crate) membership: Bytes,
    /// End of the raft log.
    pub(crate) last: Position,
    pub(crate) boot: u64,
    /// Entries up to here may be missing.
    pub(crate) trimmed: Index,
    /// The last install, 0 if there was none.
    pub(crate) install: Position,
}

impl Tail {
    /// The tail after `batch`, or the rule that it breaks. Number and chain are the caller's.
    pub(crate) fn after(&self, batch: &Batch) -> Result<Tail, &'static str> {
        let mut next = self.clone();
        let mut previous = None;
        for frame in &batch.frames {
            match frame {
                Frame::Entry(entry) => {
                    if previous.is_some_and(|previous: Index| previous.next() != entry.index) {
                        return Err("the entries of a batch are not consecutive");
                    }
                    previous = Some(entry.index);
                    next.append(entry, self.hard_state.commit)?;
                }
                Frame::HardState(state) => next.vote(state)?,
                Frame::Install(_) if previous.is_some() => {
                    return Err("a batch holds entries before an install");
                }
                Frame::Install(install) => {
                    previous = Some(install.position.index);
                    next.install(install)?;
                }
                Frame::Boot(number) if *number != next.boot + 1 => {
                    return Err("boot numbers are not consecutive");
                }
                Frame::Boot(number) => next.boot = *number,
                Frame::Membership(data) if WAL_MEMBERSHIP_BYTES_MAX < data.len() => {
                    return Err("the member list is too long");
                }
                Frame::Membership(data) => next.membership = data.clone(),
                Frame::Trim(index) => next.trimmed = next.trimmed.max(*index),
                Frame::Seal => {}
            }
        }
        if next.last.index < next.hard_state.commit {
            return Err("the commit index is beyond the end of the log");
        }
        if next.hard_state.commit < next.install.index {
            return Err("an installed state is not committed");
        }
        if next.hard_state.commit < next.trimmed {
            return Err("entries were trimmed that are not committed");
        }
        Ok(next)
    }

    fn append(&mut self, entry: &Entry, committed: Index) -> Result<(), &'static str> {
        if entry.index <= committed {
            return Err("an entry replaces a committed one");
        }
        if self.last.index.next() < entry.index {
            return Err("entries are missing before this one");
        }
        if self.last.index < entry.index && entry.term < self.last.term {
            return Err("the term of an entry is below that of the entry before");
        }
        self.last = Position { index: entry.index, term: entry.term };
        Ok(())
    }

    fn vote(&mut self, state: &HardState) -> Result<(), &'static str> {
        let HardState { term, vote, commit } = self.hard_state;
        if state.term < term || state.commit < commit {
            return Err("the hard state goes back");
        }
        if state.term == term && vote != MemberId(0) && state.vote != vote {
            return Err("the vote changes within a term");
        }
        self.hard_state = *state;
        Ok(())
    }

    fn install(&mut self, install: &Install) -> Result<(), &'static str> {
        if install.position.index < self.hard_state.commit {
            return Err("an installed state is older than what is committed");
        }
        if NUMBER_MAX < install.position.index.0 {
            return Err("an installed state has an index that no log reaches");
        }
        if install.position.term == Term(0) {
            return Err("an installed state has no term");
        }
        self.last = install.position;
        self.install = install.position;
        Ok(())
    }
}
