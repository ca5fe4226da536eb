//! Byte layouts of a segment. All numbers are little-endian; docs/disk-format.md has the tables.
//!
//! Every checksum is CRC-32C, seeded with the segment's seed, which is made of the store's salt
//! and the segment's number.

use crate::config::BLOCK;
use bytes::Bytes;
use crc32c::{crc32c, crc32c_append};
use types::Revision;

/// Version of the layouts of this file.
pub(crate) const VERSION: u32 = 1;
const SEGMENT_MAGIC: &[u8; 8] = b"MSRECSEG";
const JOB_MAGIC: u32 = u32::from_le_bytes(*b"MJOB");
const COMMIT_MAGIC: u32 = u32::from_le_bytes(*b"MCMT");
const FOOTER_MAGIC: u32 = u32::from_le_bytes(*b"MFTR");

/// Bytes of a segment header, which has the first block for itself.
pub(crate) const SEGMENT_HEADER: usize = 64;
/// Bytes of a job header.
pub(crate) const JOB_HEADER: usize = 40;
/// Bytes before a record's payload.
pub(crate) const RECORD_HEADER: usize = 28;
/// Bytes before a commit frame's payload.
pub(crate) const COMMIT_HEADER: usize = 24;
/// Bytes before a footer's spans.
pub(crate) const FOOTER_HEADER: usize = 20;
/// Bytes of one span in a footer.
pub(crate) const SPAN: usize = 24;

const FLAG_TOMBSTONE: u8 = 1;

/// `len` as a 64-bit number.
pub(crate) fn to_u64(len: usize) -> u64 {
    u64::try_from(len).expect("a length fits 64 bits")
}

/// A file position or length, below the 4 GiB of a segment, as a length in memory.
pub(crate) fn to_usize(len: u64) -> usize {
    usize::try_from(len).expect("a segment's length fits the address space")
}

pub(crate) fn to_u32(len: usize) -> u32 {
    u32::try_from(len).expect("the writer checked that lengths fit 32 bits")
}

/// The first block border at or after `at`.
pub(crate) fn block_after(at: u64) -> u64 {
    at.next_multiple_of(BLOCK)
}

/// Seed of all checksums of one file.
pub(crate) fn seed_of(salt: u64, id: u64) -> u32 {
    crc32c_append(crc32c(&salt.to_le_bytes()), &id.to_le_bytes())
}

/// Reads numbers off a slice; every getter is `None` beyond the end.
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Bytes behind a 32-bit length.
    pub(crate) fn bytes(&mut self) -> Option<Bytes> {
        let len = self.u32()?;
        self.take(usize::try_from(len).ok()?).map(Bytes::copy_from_slice)
    }
}

/// First bytes of a segment file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    /// The segment's number, as in its name.
    pub(crate) id: u64,
    /// The store's salt: a segment of another store does not pass.
    pub(crate) salt: u64,
    /// Bytes that were reserved for the file before the manifest named it.
    pub(crate) allocated: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut out = [0; SEGMENT_HEADER];
        out[0..8].copy_from_slice(SEGMENT_MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&self.id.to_le_bytes());
        out[24..32].copy_from_slice(&self.salt.to_le_bytes());
        out[32..40].copy_from_slice(&self.allocated.to_le_bytes());
        let crc = crc32c(&out[..60]);
        out[60..64].copy_from_slice(&crc.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8; SEGMENT_HEADER]) -> Option<SegmentHeader> {
        let (body, mut crc) = (&bytes[..60], Cursor(&bytes[60..]));
        if crc.u32()? != crc32c(body) {
            return None;
        }
        let mut cursor = Cursor(body);
        if cursor.take(8)? != SEGMENT_MAGIC || cursor.u32()? != VERSION {
            return None;
        }
        cursor.u32()?;
        Some(SegmentHeader { id: cursor.u64()?, salt: cursor.u64()?, allocated: cursor.u64()? })
    }
}

/// What a job in a segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JobKind {
    /// A flush job; its commit frame holds the state after it.
    Flush,
    /// Records that a rewrite copied; no state.
    Copy,
}

/// First frame of a job, at the start of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct JobHeader {
    pub(crate) kind: JobKind,
    /// Flush jobs are numbered without a gap over the store's life; of a copy it is 0.
    pub(crate) number: u64,
    /// Bytes of the record frames and the commit frame.
    pub(crate) body: u64,
    /// Record frames.
    pub(crate) records: u32,
    /// Bytes of the commit frame.
    pub(crate) commit: u32,
    /// The segment's digest before this job: chains it to the job before.
    pub(crate) digest: u32,
}

impl JobHeader {
    pub(crate) fn encode(&self, seed: u32) -> [u8; JOB_HEADER] {
        let mut out = [0; JOB_HEADER];
        out[0..4].copy_from_slice(&JOB_MAGIC.to_le_bytes());
        out[4] = match self.kind {
            JobKind::Flush => 1,
            JobKind::Copy => 2,
        };
        out[8..16].copy_from_slice(&self.number.to_le_bytes());
        out[16..24].copy_from_slice(&self.body.to_le_bytes());
        out[24..28].copy_from_slice(&self.records.to_le_bytes());
        out[28..32].copy_from_slice(&self.commit.to_le_bytes());
        out[32..36].copy_from_slice(&self.digest.to_le_bytes());
        let crc = crc32c_append(seed, &out[..36]);
        out[36..40].copy_from_slice(&crc.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8], seed: u32) -> Option<JobHeader> {
        let mut cursor = Cursor(bytes.get(..JOB_HEADER)?);
        let body = &bytes[..36];
        if Cursor(&bytes[36..]).u32()? != crc32c_append(seed, body) || cursor.u32()? != JOB_MAGIC {
            return None;
        }
        let kind = match cursor.u8()? {
            1 => JobKind::Flush,
            2 => JobKind::Copy,
            _ => return None,
        };
        cursor.take(3)?;
        Some(JobHeader {
            kind,
            number: cursor.u64()?,
            body: cursor.u64()?,
            records: cursor.u32()?,
            commit: cursor.u32()?,
            digest: cursor.u32()?,
        })
    }
}

/// What stands before a record's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordHeader {
    pub(crate) len: u32,
    pub(crate) tombstone: bool,
    pub(crate) revision: Revision,
    /// Checksum of the payload, seeded with the header's.
    pub(crate) payload_crc: u32,
    /// Checksum of the header without `payload_crc`.
    pub(crate) header_crc: u32,
}

/// Bytes of a record's frame.
pub(crate) fn record_frame_len(kv: &[u8]) -> u64 {
    to_u64(RECORD_HEADER + kv.len())
}

/// Appends a record's frame and returns the digest with it.
pub(crate) fn encode_record(
    out: &mut Vec<u8>,
    (revision, tombstone, kv): (Revision, bool, &[u8]),
    seed: u32,
    digest: u32,
) -> u32 {
    let sub = u32::try_from(revision.sub).expect("a txn has fewer than 2^32 changes");
    let mut head = [0; RECORD_HEADER];
    head[0..4].copy_from_slice(&to_u32(kv.len()).to_le_bytes());
    head[4] = if tombstone { FLAG_TOMBSTONE } else { 0 };
    head[8..16].copy_from_slice(&revision.main.to_le_bytes());
    head[16..20].copy_from_slice(&sub.to_le_bytes());
    let header_crc = crc32c_append(seed, &head[..20]);
    head[20..24].copy_from_slice(&header_crc.to_le_bytes());
    head[24..28].copy_from_slice(&crc32c_append(header_crc, kv).to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(kv);
    crc32c_append(digest, &head)
}

impl RecordHeader {
    /// Decodes a header whose own checksum holds.
    pub(crate) fn decode(bytes: &[u8], seed: u32) -> Option<RecordHeader> {
        let head: &[u8; RECORD_HEADER] = bytes.get(..RECORD_HEADER)?.try_into().ok()?;
        let header_crc = Cursor(&head[20..]).u32()?;
        if header_crc != crc32c_append(seed, &head[..20]) {
            return None;
        }
        let mut cursor = Cursor(head);
        let len = cursor.u32()?;
        let tombstone = match cursor.u32()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let revision = Revision::new(cursor.i64()?, i64::from(cursor.u32()?));
        cursor.u32()?;
        Some(RecordHeader { len, tombstone, revision, payload_crc: cursor.u32()?, header_crc })
    }

    /// True if `kv` is what was written behind this header.
    pub(crate) fn holds(&self, kv: &[u8]) -> bool {
        crc32c_append(self.header_crc, kv) == self.payload_crc
    }

    /// Bytes of the frame.
    pub(crate) fn frame(&self) -> u64 {
        to_u64(RECORD_HEADER) + u64::from(self.len)
    }
}

/// What stands before a commit frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommitHeader {
    pub(crate) len: u32,
    /// The segment's digest after this job's records.
    pub(crate) digest: u32,
    header_crc: u32,
    payload_crc: u32,
}

/// Appends a commit frame and returns the digest with it.
pub(crate) fn encode_commit(out: &mut Vec<u8>, payload: &[u8], seed: u32, digest: u32) -> u32 {
    let mut head = [0; COMMIT_HEADER];
    head[0..4].copy_from_slice(&COMMIT_MAGIC.to_le_bytes());
    head[4..8].copy_from_slice(&to_u32(payload.len()).to_le_bytes());
    head[8..12].copy_from_slice(&digest.to_le_bytes());
    let header_crc = crc32c_append(seed, &head[..16]);
    head[16..20].copy_from_slice(&header_crc.to_le_bytes());
    head[20..24].copy_from_slice(&crc32c_append(header_crc, payload).to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    crc32c_append(digest, &head)
}

impl CommitHeader {
    /// Decodes a header whose own checksum holds.
    pub(crate) fn decode(bytes: &[u8], seed: u32) -> Option<CommitHeader> {
        let head = bytes.get(..COMMIT_HEADER)?;
        let mut cursor = Cursor(head);
        let magic = cursor.u32()?;
        let (len, digest) = (cursor.u32()?, cursor.u32()?);
        cursor.u32()?;
        let (header_crc, payload_crc) = (cursor.u32()?, cursor.u32()?);
        if header_crc != crc32c_append(seed, &head[..16]) || magic != COMMIT_MAGIC {
            return None;
        }
        Some(CommitHeader { len, digest, header_crc, payload_crc })
    }

    /// True if `payload` is what was written behind this header.
    pub(crate) fn holds(&self, payload: &[u8]) -> bool {
        crc32c_append(self.header_crc, payload) == self.payload_crc
    }
}

/// A stretch of records without anything between them: what one read fetches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Revision of its first record.
    pub(crate) first: Revision,
    /// Where it begins.
    pub(crate) offset: u32,
    /// Its bytes.
    pub(crate) len: u32,
    /// Its records.
    pub(crate) records: u32,
}

/// A sealed segment's index, behind its last job.
pub(crate) fn encode_footer(spans: &[Span], seed: u32) -> Vec<u8> {
    let mut payload = Vec::with_capacity(FOOTER_HEADER + spans.len() * SPAN);
    payload.extend_from_slice(&[0; FOOTER_HEADER]);
    for span in spans {
        let sub = u32::try_from(span.first.sub).expect("a txn has fewer than 2^32 changes");
        payload.extend_from_slice(&span.first.main.to_le_bytes());
        payload.extend_from_slice(&sub.to_le_bytes());
        payload.extend_from_slice(&span.offset.to_le_bytes());
        payload.extend_from_slice(&span.len.to_le_bytes());
        payload.extend_from_slice(&span.records.to_le_bytes());
    }
    payload[0..4].copy_from_slice(&FOOTER_MAGIC.to_le_bytes());
    payload[4..8].copy_from_slice(&to_u32(spans.len()).to_le_bytes());
    let header_crc = crc32c_append(seed, &payload[..12]);
    payload[12..16].copy_from_slice(&header_crc.to_le_bytes());
    let payload_crc = crc32c_append(header_crc, &payload[FOOTER_HEADER..]);
    payload[16..20].copy_from_slice(&payload_crc.to_le_bytes());
    payload
}

/// True if a footer's header stands here.
pub(crate) fn is_footer(bytes: &[u8], seed: u32) -> bool {
    let mut cursor = Cursor(bytes);
    let crc = bytes.get(12..).and_then(|tail| Cursor(tail).u32());
    cursor.u32() == Some(FOOTER_MAGIC) && crc == Some(crc32c_append(seed, &bytes[..12]))
}

/// Reads a footer that fills `bytes`.
pub(crate) fn decode_footer(bytes: &[u8], seed: u32) -> Option<Vec<Span>> {
    if !is_footer(bytes, seed) {
        return None;
    }
    let mut cursor = Cursor(bytes);
    cursor.u32()?;
    let count = usize::try_from(cursor.u32()?).ok()?;
    cursor.u32()?;
    let (header_crc, payload_crc) = (cursor.u32()?, cursor.u32()?);
    if payload_crc != crc32c_append(header_crc, cursor.0) || cursor.0.len() != count * SPAN {
        return None;
    }
    let mut spans = Vec::with_capacity(count);
    for _ in 0..count {
        let first = Revision::new(cursor.i64()?, i64::from(cursor.u32()?));
        let (offset, len, records) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        spans.push(Span { first, offset, len, records });
    }
    Some(spans)
}
