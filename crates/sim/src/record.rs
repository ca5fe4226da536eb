//! What one member has on its disk, as the simulator knows it: everything whose sync returned, and
//! the batch that is being written.

use crate::report::Violation;
use bytes::Bytes;
use types::Term;
use wal::{Batch, Frame, HardState};

/// What an entry asks the state machine for; nothing if it changes the membership.
fn content(entry: &wal::Entry) -> Bytes {
    match entry.kind {
        wal::EntryKind::Normal => entry.data.clone(),
        wal::EntryKind::ConfChange => Bytes::new(),
    }
}

/// The log of a member.
#[derive(Clone, Default, Debug)]
pub(crate) struct Record {
    /// Entry `i` at `i - 1`, as of the last sync.
    durable: Vec<(Term, Bytes)>,
    hard_state: HardState,
    /// The log and the hard state as the batch leaves them that is being written.
    writing: Option<(Vec<(Term, Bytes)>, HardState)>,
}

impl Record {
    /// A batch was handed to the log thread.
    pub(crate) fn writes(&mut self, batch: &Batch) {
        let (mut log, mut hard_state) = (self.durable.clone(), self.hard_state);
        for frame in &batch.frames {
            match frame {
                Frame::Entry(entry) => {
                    let at = usize::try_from(entry.index.0).expect("a small log") - 1;
                    assert!(at <= log.len(), "entry {} leaves a gap in the log", entry.index);
                    log.truncate(at);
                    log.push((entry.term, content(entry)));
                }
                Frame::HardState(state) => hard_state = *state,
                _ => {}
            }
        }
        self.writing = Some((log, hard_state));
    }

    /// Its sync returned.
    pub(crate) fn synced(&mut self) {
        if let Some((log, hard_state)) = self.writing.take() {
            (self.durable, self.hard_state) = (log, hard_state);
        }
    }

    /// The log was read at a start: it is that of the last sync, or that and the batch after it,
    /// whole. From here on it counts as durable.
    pub(crate) fn recovered(&mut self, found: &wal::Recovered) -> Result<(), Violation> {
        let base = usize::try_from(found.base.index.0).expect("a small log");
        let is = |log: &[(Term, Bytes)], state: &HardState| {
            let entries = log.get(base..).unwrap_or_default();
            let is_equal = entries.len() == found.entries.len()
                && base <= log.len()
                && entries
                    .iter()
                    .zip(&found.entries)
                    .all(|((term, data), entry)| *term == entry.term && *data == content(entry));
            is_equal && (state.term, state.vote) == (found.hard_state.term, found.hard_state.vote)
        };
        if is(&self.durable, &self.hard_state) {
            self.writing = None;
            return Ok(());
        }
        if let Some((log, state)) = self.writing.take()
            && is(&log, &state)
        {
            (self.durable, self.hard_state) = (log, state);
            return Ok(());
        }
        let (last, known) = (found.last().index, self.durable.len());
        let (seen, state) = (found.hard_state, self.hard_state);
        let text = format!(
            "the log of {last} entries, {seen:?}, is neither what was synced, {known} entries, \
             {state:?}, nor that and the batch after it"
        );
        Err(Violation::new("log_durable", text))
    }

    /// Index of the last durable entry.
    pub(crate) fn last(&self) -> usize {
        self.durable.len()
    }

    /// True if this entry is durable.
    pub(crate) fn holds(&self, index: usize, term: Term) -> bool {
        let entry = index.checked_sub(1).and_then(|at| self.durable.get(at));
        entry.is_some_and(|(known, _)| *known == term)
    }

    /// The durable entry, or the one that is being written over it.
    pub(crate) fn entry(&self, index: usize) -> Option<&(Term, Bytes)> {
        self.durable.get(index.checked_sub(1)?)
    }

    /// The durable term and vote.
    pub(crate) fn hard_state(&self) -> HardState {
        self.hard_state
    }
}
