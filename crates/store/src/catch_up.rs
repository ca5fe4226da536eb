//! History for the watchers that are behind, slice by slice.

use crate::store::Store;
use crate::txn;
use crate::write::{cold, creates_key};
use mvcc::History;
use types::{Record, Revision, limits};
use watch::Span;

/// What catching up comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum CatchUp {
    /// Nobody waits.
    Idle,
    /// A slice was handed out; there may be more.
    Progressed,
    /// These records are needed first: fetch them, `warm`, and call again.
    Fetch(Vec<Revision>),
    /// These main revisions are needed from the backend: read them with `reader`, at most about
    /// `bytes_max`, whole revisions only, and hand them to `history`.
    History {
        /// First main revision.
        from: i64,
        /// Last main revision.
        to: i64,
        /// Where reading should end.
        bytes_max: usize,
    },
}

/// History that is at hand, but some of whose previous records are not.
#[derive(Debug)]
pub(crate) struct Fetched {
    span: Span,
    records: Vec<Record>,
}

impl Store {
    /// Hands a slice of history to the watchers that wait for it.
    pub fn catch_up(&mut self) -> CatchUp {
        if let Some(Fetched { span, records }) = self.fetched.take() {
            return self.hand_out(span, records);
        }
        let Some(wanted) = self.hub.next_span() else { return CatchUp::Idle };
        let most = i64::try_from(limits::WATCH_BATCH_REVISIONS_MAX).expect("a small number");
        let to = wanted.to.min(wanted.from + most - 1);
        match self.keyspace.changes(wanted.from, to, limits::WATCH_BATCH_BYTES_MAX) {
            History::Resident { records, next } => {
                self.hand_out(Span { from: wanted.from, to: next - 1 }, records)
            }
            History::NeedsBackend { from, to } => {
                CatchUp::History { from, to, bytes_max: limits::WATCH_BATCH_BYTES_MAX }
            }
        }
    }

    /// What was read for `CatchUp::History`, from the same `from` to `to`; whole revisions, fewer
    /// than asked for if they were large.
    pub fn history(&mut self, from: i64, to: i64, records: Vec<Record>) -> CatchUp {
        // Where reading ended early cannot be told from a gap that compaction left: the last
        // record is covered for certain, and with none all of it is.
        let to = records.last().map_or(to, |last| last.revision.main);
        self.hand_out(Span { from, to }, records)
    }

    fn hand_out(&mut self, span: Span, records: Vec<Record>) -> CatchUp {
        let needed = self.cold_prevs(&records);
        if !needed.is_empty() {
            self.fetched = Some(Fetched { span, records });
            return CatchUp::Fetch(needed);
        }
        let changes: Vec<watch::Change> = records.iter().map(|record| self.past(record)).collect();
        self.hub.feed(span, &changes);
        self.cool();
        CatchUp::Progressed
    }

    fn cold_prevs(&self, records: &[Record]) -> Vec<Revision> {
        let mut needed = Vec::new();
        for record in records {
            let key = mvcc::kv::key(&record.kv);
            if self.hub.wants_prev_behind(key) && !creates_key(record) {
                let prev = self.keyspace.prev(key, record.revision.main);
                needed.extend(prev.and_then(|prev| cold(&prev.item)));
            }
        }
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    fn past(&self, record: &Record) -> watch::Change {
        let key = mvcc::kv::key(&record.kv);
        let wanted = self.hub.wants_prev_behind(key) && !creates_key(record);
        let prev = wanted.then(|| self.keyspace.prev(key, record.revision.main)).flatten();
        watch::Change {
            key: record.kv.slice_ref(key),
            revision: record.revision,
            tombstone: record.tombstone,
            kv: record.kv.clone(),
            prev: prev.map(|prev| txn::resident(&prev).clone()),
        }
    }
}
