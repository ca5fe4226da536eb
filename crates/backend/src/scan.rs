//! Walks segments in revision order with large reads, checking every byte.

use crate::config::BLOCK;
use crate::error::Result;
use crate::format::{
    self, COMMIT_HEADER, CommitHeader, JOB_HEADER, JobHeader, JobKind, RECORD_HEADER, RecordHeader,
    block_after, to_u64, to_usize,
};
use crate::reader::Reader;
use crate::segment::{SegmentFile, SegmentView, Total};
use bytes::Bytes;
use std::sync::Arc;
use types::{Record, Revision};

/// Bytes of one read.
const CHUNK: u64 = 512 * 1024;

/// A record while it is walked over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordRef<'a> {
    /// When this version came to be.
    pub revision: Revision,
    /// True if it is a delete marker.
    pub tombstone: bool,
    /// The encoded `mvccpb.KeyValue`.
    pub kv: &'a [u8],
}

impl RecordRef<'_> {
    /// A copy of its own.
    pub fn to_record(&self) -> Record {
        Record {
            revision: self.revision,
            tombstone: self.tombstone,
            kv: Bytes::copy_from_slice(self.kv),
        }
    }
}

/// What a walk over one segment meets.
pub(crate) enum Step<'a> {
    /// A job begins.
    Job,
    /// A record, whose frame begins at this offset.
    Record(u64, RecordRef<'a>),
    /// A job ended; what its commit frame carries.
    Commit(JobHeader, &'a [u8]),
    /// The end, with the sum of everything.
    End,
}

enum State {
    Border,
    Inside { header: JobHeader, left: u32, end: u64 },
}

/// A walk over the jobs of one segment.
pub(crate) struct Walk {
    segment: SegmentFile,
    /// Where the last job ends.
    end: u64,
    /// Where the next frame begins.
    position: u64,
    state: State,
    buffer: Vec<u8>,
    /// Where `buffer` begins in the file.
    buffer_at: u64,
    pub(crate) total: Total,
    pub(crate) last: Option<Revision>,
}

impl Walk {
    /// Starts behind the segment header and ends at `end`.
    pub(crate) fn new(segment: SegmentFile, end: u64) -> Walk {
        Walk {
            segment,
            end,
            position: BLOCK,
            state: State::Border,
            buffer: Vec::new(),
            buffer_at: 0,
            total: Total { records: 0, digest: 0 },
            last: None,
        }
    }

    /// Where the next frame begins; at a border the start of a block.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    fn damage(&self, what: &'static str) -> crate::Error {
        self.segment.damage(self.position, self.last, what).into()
    }

    /// Makes `len` bytes at the position present in the buffer; returns where they begin there.
    /// `what` is the damage if the walk ends before.
    fn fill(&mut self, len: u64, what: &'static str) -> Result<usize> {
        let have = self.buffer_at + to_u64(self.buffer.len());
        if self.position < self.buffer_at || have < self.position + len {
            if self.end < self.position + len {
                return Err(self.damage(what));
            }
            let upto = self.end.min(self.position + len.max(CHUNK));
            self.buffer.clear();
            self.buffer.resize(to_usize(upto - self.position), 0);
            self.buffer_at = self.position;
            let read = self.segment.file.read_at(&mut self.buffer, self.position);
            if let Err(error) = read {
                self.buffer.clear();
                return match error.kind {
                    vfs::ErrorKind::ShortRead => Err(self.damage("the file is cut short")),
                    _ => Err(error.into()),
                };
            }
        }
        Ok(to_usize(self.position - self.buffer_at))
    }

    /// The next thing in the segment.
    pub(crate) fn step(&mut self) -> Result<Step<'_>> {
        match self.state {
            State::Border if self.position == self.end => Ok(Step::End),
            State::Border => self.job(),
            State::Inside { left: 0, .. } => self.commit(),
            State::Inside { .. } => self.record(),
        }
    }

    fn job(&mut self) -> Result<Step<'_>> {
        let at = self.fill(to_u64(JOB_HEADER), "a job is cut short")?;
        let Some(header) = JobHeader::decode(&self.buffer[at..], self.segment.seed) else {
            return Err(self.damage("the header of a job fails its checksum"));
        };
        if header.digest != self.total.digest {
            return Err(self.damage("a job does not follow the job before it"));
        }
        let end = (self.position + to_u64(JOB_HEADER)).saturating_add(header.body);
        if self.end < end || header.body < u64::from(header.commit) {
            return Err(self.damage("a job crosses the end of its segment"));
        }
        self.position += to_u64(JOB_HEADER);
        self.state = State::Inside { left: header.records, end, header };
        Ok(Step::Job)
    }

    fn record(&mut self) -> Result<Step<'_>> {
        let at = self.fill(to_u64(RECORD_HEADER), "a record is cut short")?;
        let Some(head) = RecordHeader::decode(&self.buffer[at..], self.segment.seed) else {
            return Err(self.damage("the header of a record fails its checksum"));
        };
        let at = self.fill(head.frame(), "a record crosses the end of its segment")?;
        let kv = at + RECORD_HEADER..at + to_usize(head.frame());
        if !head.holds(&self.buffer[kv.clone()]) {
            return Err(self.damage("a record fails its checksum"));
        }
        if self.last.is_some_and(|last| head.revision <= last) {
            return Err(self.damage("a record is out of order"));
        }
        let raw = &self.buffer[at..at + RECORD_HEADER];
        self.total.digest = crc32c::crc32c_append(self.total.digest, raw);
        self.total.records += 1;
        self.last = Some(head.revision);
        let offset = self.position;
        self.position += head.frame();
        if let State::Inside { left, .. } = &mut self.state {
            *left -= 1;
        }
        let (revision, tombstone) = (head.revision, head.tombstone);
        Ok(Step::Record(offset, RecordRef { revision, tombstone, kv: &self.buffer[kv] }))
    }

    fn commit(&mut self) -> Result<Step<'_>> {
        let State::Inside { header, end, .. } = &self.state else {
            unreachable!("a commit frame is only looked for inside a job")
        };
        let (job, end) = (header.clone(), *end);
        let at = self.fill(to_u64(COMMIT_HEADER), "a commit frame is cut short")?;
        let Some(head) = CommitHeader::decode(&self.buffer[at..], self.segment.seed) else {
            return Err(self.damage("the header of a commit frame fails its checksum"));
        };
        let frame = to_u64(COMMIT_HEADER) + u64::from(head.len);
        if head.digest != self.total.digest || self.position + frame != end {
            return Err(self.damage("a commit frame does not fit its job"));
        }
        // The padding is part of the job: it is written and synced with it.
        let padded = block_after(end);
        if self.end < padded {
            return Err(self.damage("a job is cut short"));
        }
        let at = self.fill(padded - self.position, "a commit frame is cut short")?;
        let payload = at + COMMIT_HEADER..at + to_usize(frame);
        if !head.holds(&self.buffer[payload.clone()]) {
            return Err(self.damage("a commit frame fails its checksum"));
        }
        let padding = payload.end..at + to_usize(padded - self.position);
        if self.buffer[padding].iter().any(|byte| *byte != 0) {
            return Err(self.damage("the padding of a job is not zero"));
        }
        let raw = &self.buffer[at..at + COMMIT_HEADER];
        self.total.digest = crc32c::crc32c_append(self.total.digest, raw);
        self.position = padded;
        self.state = State::Border;
        Ok(Step::Commit(job, &self.buffer[payload]))
    }
}

/// Number of the flush job whose header stands in `bytes`, if any.
pub(crate) fn flush_number(bytes: &[u8], seed: u32) -> Option<u64> {
    let header = format::JobHeader::decode(bytes, seed)?;
    (header.kind == JobKind::Flush).then_some(header.number)
}

/// All records of a snapshot in revision order, each checked; at the end of each segment its
/// count and digest are checked too. Garbage that was not rewritten yet is among them.
pub struct Scan {
    segments: Vec<Arc<SegmentView>>,
    at: usize,
    walk: Option<Walk>,
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scan({} of {} segments)", self.at, self.segments.len())
    }
}

impl Scan {
    pub(crate) fn new(reader: &Reader) -> Scan {
        Scan { segments: reader.segments().to_vec(), at: 0, walk: None }
    }

    /// The next record, borrowed from the scan's buffer; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        if !self.advance()? {
            return Ok(None);
        }
        let walk = self.walk.as_mut().expect("advance stopped inside a segment");
        match walk.step()? {
            Step::Record(_, record) => Ok(Some(record)),
            _ => unreachable!("advance stopped before a record"),
        }
    }

    /// Walks to the next record; false at the end.
    fn advance(&mut self) -> Result<bool> {
        loop {
            let Some(segment) = self.segments.get(self.at) else { return Ok(false) };
            let walk =
                self.walk.get_or_insert_with(|| Walk::new(segment.file.clone(), segment.end));
            if let State::Inside { left: 1.., .. } = walk.state {
                return Ok(true);
            }
            if let Step::End = walk.step()? {
                if walk.total != segment.total || walk.last != Some(segment.last) {
                    return Err(walk.damage("a segment does not add up to what was sealed"));
                }
                self.at += 1;
                self.walk = None;
            }
        }
    }
}

impl Iterator for Scan {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        match self.next_record() {
            Ok(record) => record.map(|record| Ok(record.to_record())),
            Err(error) => {
                self.at = self.segments.len();
                Some(Err(error))
            }
        }
    }
}
