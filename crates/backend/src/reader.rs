//! Reads what is durable: a snapshot of the segments that keeps their files alive.

use crate::error::Result;
use crate::job::Meta;
use crate::scan::Scan;
use crate::segment::SegmentView;
use bytes::Bytes;
use std::sync::Arc;
use types::{Record, Revision};

/// Reads what was durable when it was handed out; a cheap handle that keeps its files alive.
/// A default one holds nothing.
#[derive(Clone, Default, Debug)]
pub struct Reader {
    view: Arc<View>,
}

#[derive(Default, Debug)]
struct View {
    meta: Meta,
    /// Invariant: in revision order, none empty.
    segments: Vec<Arc<SegmentView>>,
    size: u64,
}

/// Records of a span of main revisions.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct History {
    /// In revision order; the last main revision is whole.
    pub records: Vec<Record>,
    /// Main revision to go on from if the bytes were used up before the end.
    pub next: Option<i64>,
}

impl Reader {
    pub(crate) fn new(meta: Meta, segments: Vec<Arc<SegmentView>>, size: u64) -> Reader {
        Reader { view: Arc::new(View { meta, segments, size }) }
    }

    pub(crate) fn segments(&self) -> &[Arc<SegmentView>] {
        &self.view.segments
    }

    /// The state that this snapshot was taken at.
    pub fn meta(&self) -> &Meta {
        &self.view.meta
    }

    /// Bytes of all files of the store at that time, as `Backend::size` counts them.
    pub fn size(&self) -> u64 {
        self.view.size
    }

    /// Number of the segment that would hold `revision`.
    fn segment_of(&self, revision: Revision) -> usize {
        self.segments().partition_point(|segment| segment.last < revision)
    }

    /// The record at `revision`, if it is there.
    pub fn get(&self, revision: Revision) -> Result<Option<Record>> {
        let Some(segment) = self.segments().get(self.segment_of(revision)) else {
            return Ok(None);
        };
        let Some(span) = segment.span_of(revision) else { return Ok(None) };
        let bytes = segment.read(span)?;
        let found = segment.find(span, &bytes, revision)?;
        // A copy of its own: a record that stays in memory must not pin a whole span.
        Ok(found.map(|record| Record { kv: Bytes::copy_from_slice(&record.kv), ..record }))
    }

    /// The records at `revisions`, in the order asked; what lies together is read once.
    pub fn get_many(&self, revisions: &[Revision]) -> Result<Vec<Option<Record>>> {
        let mut order: Vec<usize> = (0..revisions.len()).collect();
        order.sort_by_key(|at| revisions[*at]);
        let mut found = vec![None; revisions.len()];
        let mut held: Option<(usize, usize, Bytes)> = None;
        for at in order {
            let revision = revisions[at];
            let number = self.segment_of(revision);
            let Some(segment) = self.segments().get(number) else { continue };
            let Some(span) = segment.span_of(revision) else { continue };
            let bytes = match &held {
                Some((n, s, bytes)) if *n == number && *s == span => bytes.clone(),
                _ => segment.read(span)?,
            };
            found[at] = segment
                .find(span, &bytes, revision)?
                .map(|record| Record { kv: Bytes::copy_from_slice(&record.kv), ..record });
            held = Some((number, span, bytes));
        }
        Ok(found)
    }

    /// The records of the main revisions `from_main..=to_main`, ending early, but never inside a
    /// main revision, once `bytes_max` bytes of records were read.
    pub fn scan(&self, from_main: i64, to_main: i64, bytes_max: usize) -> Result<History> {
        let from = Revision::new(from_main, 0);
        let mut history = History::default();
        let mut bytes_read = 0;
        for segment in &self.segments()[self.segment_of(from)..] {
            for span in segment.span_of(from).unwrap_or(0)..segment.spans.len() {
                if to_main < segment.spans[span].first.main {
                    return Ok(history);
                }
                let bytes = segment.read(span)?;
                let mut at = 0;
                while at < bytes.len() {
                    let found = segment.parse(span, &bytes, at)?;
                    at = found.payload.end;
                    let revision = found.header.revision;
                    if revision < from {
                        continue;
                    }
                    if to_main < revision.main {
                        return Ok(history);
                    }
                    let last = history.records.last().map(|record| record.revision.main);
                    if bytes_max <= bytes_read && last.is_some_and(|last| last < revision.main) {
                        history.next = Some(revision.main);
                        return Ok(history);
                    }
                    bytes_read += found.payload.len();
                    history.records.push(found.record(&bytes));
                }
            }
        }
        Ok(history)
    }

    /// All records in revision order, checking every byte: for a start, a hash, a scrub.
    pub fn scan_all(&self) -> Scan {
        Scan::new(self)
    }

    /// Checks every byte of every record: the scrub.
    pub fn verify(&self) -> Result<u64> {
        let mut scan = self.scan_all();
        let mut count = 0;
        while scan.next_record()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}
