//! One segment as readers see it: its file, its spans, and how a record is found in it.

use crate::error::{Damage, Result};
use crate::format::{self, RecordHeader, Span, to_u64, to_usize};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use types::{Record, Revision};
use vfs::File;

/// Bytes of records from which a span ends: what a read of one record may have to skip.
const SPAN_BYTES: u32 = 8 * 1024;

/// Name of a segment's file.
pub(crate) fn name_of(id: u64) -> String {
    format!("{id:016x}.rec")
}

/// The number in a segment's name.
pub(crate) fn id_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".rec")?;
    let id = u64::from_str_radix(digits, 16).ok()?;
    (name_of(id) == name).then_some(id)
}

/// The parts of a segment that never change.
#[derive(Clone)]
pub(crate) struct SegmentFile {
    pub(crate) id: u64,
    /// Path on the disk.
    pub(crate) path: Arc<str>,
    pub(crate) file: Arc<dyn File>,
    /// Seed of its checksums.
    pub(crate) seed: u32,
}

impl SegmentFile {
    /// Damage at a place of this file.
    pub(crate) fn damage(
        &self,
        offset: u64,
        after: Option<Revision>,
        what: &'static str,
    ) -> Damage {
        Damage { file: self.path.to_string(), offset, after, what }
    }
}

/// What a segment must add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Total {
    pub(crate) records: u64,
    pub(crate) digest: u32,
}

/// A segment at one moment: whole jobs only.
pub(crate) struct SegmentView {
    pub(crate) file: SegmentFile,
    /// Invariant: ascending, never empty.
    pub(crate) spans: Vec<Span>,
    /// Revision of the last record.
    pub(crate) last: Revision,
    /// Where the last job ends.
    pub(crate) end: u64,
    /// What a whole walk must add up to.
    pub(crate) total: Total,
}

impl fmt::Debug for SegmentView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[..{}]", self.file.path, self.last)
    }
}

/// A record within a span that was read.
pub(crate) struct Found {
    pub(crate) header: RecordHeader,
    /// Where its payload lies within the span.
    pub(crate) payload: std::ops::Range<usize>,
}

impl Found {
    /// The record, as a slice of the span's bytes.
    pub(crate) fn record(&self, span: &Bytes) -> Record {
        Record {
            revision: self.header.revision,
            tombstone: self.header.tombstone,
            kv: span.slice(self.payload.clone()),
        }
    }
}

impl SegmentView {
    /// Number of the span that would hold `revision`.
    pub(crate) fn span_of(&self, revision: Revision) -> Option<usize> {
        self.spans.partition_point(|span| span.first <= revision).checked_sub(1)
    }

    /// Reads one span.
    pub(crate) fn read(&self, span: usize) -> Result<Bytes> {
        let span = &self.spans[span];
        let mut bytes = vec![0; to_usize(u64::from(span.len))];
        self.file.file.read_at(&mut bytes, u64::from(span.offset)).map_err(
            |error| match error.kind {
                vfs::ErrorKind::ShortRead => crate::Error::Damage(self.file.damage(
                    u64::from(span.offset),
                    None,
                    "the file ends before its records do",
                )),
                _ => crate::Error::Vfs(error),
            },
        )?;
        Ok(bytes.into())
    }

    /// The record at `at` within a span that was read, checked.
    pub(crate) fn parse(&self, span: usize, bytes: &[u8], at: usize) -> Result<Found> {
        let span = &self.spans[span];
        let damage = |what| {
            let offset = u64::from(span.offset) + to_u64(at);
            crate::Error::Damage(self.file.damage(offset, Some(span.first), what))
        };
        let Some(header) = RecordHeader::decode(&bytes[at..], self.file.seed) else {
            return Err(damage("the header of a record fails its checksum"));
        };
        let start = at + format::RECORD_HEADER;
        let end = start + to_usize(u64::from(header.len));
        match bytes.get(start..end) {
            Some(kv) if header.holds(kv) => Ok(Found { header, payload: start..end }),
            Some(_) => Err(damage("a record fails its checksum")),
            None => Err(damage("a record crosses the end of its span")),
        }
    }

    /// Finds one record in a span that was read.
    pub(crate) fn find(
        &self,
        span: usize,
        bytes: &Bytes,
        revision: Revision,
    ) -> Result<Option<Record>> {
        let mut at = 0;
        while at < bytes.len() {
            let found = self.parse(span, bytes, at)?;
            if revision <= found.header.revision {
                let hit = found.header.revision == revision;
                return Ok(hit.then(|| found.record(bytes)));
            }
            at = found.payload.end;
        }
        Ok(None)
    }
}

/// Cuts a run of records into spans.
#[derive(Default, Debug)]
pub(crate) struct SpanBuilder {
    spans: Vec<Span>,
    /// True while the last span may grow.
    open: bool,
}

impl SpanBuilder {
    /// The next record, `frame` bytes long, begins at `offset`.
    pub(crate) fn add(&mut self, revision: Revision, offset: u64, frame: u64) {
        let offset = u32::try_from(offset).expect("segments are shorter than 4 GiB");
        let frame = u32::try_from(frame).expect("segments are shorter than 4 GiB");
        match self.spans.last_mut() {
            Some(span) if self.open && span.len + frame <= SPAN_BYTES => {
                span.len += frame;
                span.records += 1;
            }
            _ => self.spans.push(Span { first: revision, offset, len: frame, records: 1 }),
        }
        self.open = true;
    }

    /// Something that is no record follows.
    pub(crate) fn close(&mut self) {
        self.open = false;
    }

    /// Forgets the spans after the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.spans.truncate(count);
        self.open = false;
    }

    /// The spans so far.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }
}
