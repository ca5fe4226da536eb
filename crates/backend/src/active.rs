//! The segment that jobs are appended to, and how a new segment file comes to be.

use crate::config::BLOCK;
use crate::dead::DeadSet;
use crate::error::{Error, Result};
use crate::format::{
    self, COMMIT_HEADER, JOB_HEADER, JobHeader, JobKind, SegmentHeader, block_after, to_u64,
    to_usize,
};
use crate::job::FlushJob;
use crate::manifest;
use crate::segment::{SegmentFile, SegmentView, SpanBuilder, Total, name_of};
use crate::state;
use std::sync::Arc;
use types::Revision;
use vfs::{Disk, File, Open};

/// Bytes gathered before a write.
const WRITE_BYTES: usize = 512 * 1024;

/// A segment that is being written.
pub(crate) struct Active {
    pub(crate) segment: SegmentFile,
    /// Bytes that the file has on disk, whatever is written.
    pub(crate) allocated: u64,
    /// Where the next job begins. Invariant: a block border.
    pub(crate) end: u64,
    /// Flush jobs in it.
    pub(crate) jobs: u64,
    pub(crate) total: Total,
    pub(crate) first: Option<Revision>,
    pub(crate) last: Option<Revision>,
    pub(crate) spans: SpanBuilder,
    pub(crate) dead: DeadSet,
}

/// Creates a segment file of `allocated` bytes with its header; not synced. A full disk leaves
/// no file behind.
pub(crate) fn create(
    disk: &dyn Disk,
    dir: &str,
    (salt, id): (u64, u64),
    allocated: u64,
) -> Result<SegmentFile> {
    let path = manifest::path(dir, &name_of(id));
    manifest::remove_if_present(disk, &path)?;
    let file = disk.open(&path, Open::Create).map_err(Error::allocating)?;
    if let Err(error) = file.allocate(allocated).map_err(Error::allocating) {
        if let Error::NoSpace(_) = error {
            disk.remove(&path)?;
        }
        return Err(error);
    }
    file.write_at(&SegmentHeader { id, salt, allocated }.encode(), 0)?;
    Ok(SegmentFile { id, path: path.into(), file, seed: format::seed_of(salt, id) })
}

/// Bytes of a job on disk with its padding, and of its commit frame.
pub(crate) fn job_len(job: &FlushJob) -> (u64, u64) {
    let records: u64 = job.records.iter().map(|record| format::record_frame_len(&record.kv)).sum();
    let deltas: usize =
        job.deltas.iter().map(|delta| state::delta_len(&delta.key, delta.value.as_ref())).sum();
    let commit = to_u64(COMMIT_HEADER + state::meta_len(&job.meta) + deltas);
    (block_after(to_u64(JOB_HEADER) + records + commit), commit)
}

impl Active {
    /// A segment without jobs.
    pub(crate) fn new(segment: SegmentFile, allocated: u64) -> Active {
        Active {
            segment,
            allocated,
            end: BLOCK,
            jobs: 0,
            total: Total { records: 0, digest: 0 },
            first: None,
            last: None,
            spans: SpanBuilder::default(),
            dead: DeadSet::default(),
        }
    }

    /// Appends a flush job and syncs it: the atomic step of every flush. The caller checked that
    /// there is room.
    pub(crate) fn append(&mut self, job: &FlushJob, number: u64) -> Result<()> {
        let (len, commit) = job_len(job);
        assert!(self.end + len <= self.allocated, "a job of {len} bytes does not fit the segment");
        let seed = self.segment.seed;
        let records: u64 =
            job.records.iter().map(|record| format::record_frame_len(&record.kv)).sum();
        let header = JobHeader {
            kind: JobKind::Flush,
            number,
            body: records + commit,
            records: u32::try_from(job.records.len()).expect("a job is bounded in bytes"),
            commit: u32::try_from(commit).expect("a job is bounded in bytes"),
            digest: self.total.digest,
        };
        let mut out = Chunks::new(&*self.segment.file, self.end);
        out.buffer.extend_from_slice(&header.encode(seed));
        self.spans.close();
        let mut digest = self.total.digest;
        for record in &job.records {
            let revision = record.revision;
            assert!(
                self.last.is_none_or(|last| last < revision),
                "record {revision} does not follow {:?}",
                self.last
            );
            let frame = format::record_frame_len(&record.kv);
            self.spans.add(revision, out.position(), frame);
            let parts = (revision, record.tombstone, &*record.kv);
            digest = format::encode_record(&mut out.buffer, parts, seed, digest);
            self.first.get_or_insert(revision);
            self.last = Some(revision);
            out.spill()?;
        }
        self.spans.close();
        let payload = commit_payload(job);
        digest = format::encode_commit(&mut out.buffer, &payload, seed, digest);
        let end = block_after(out.position());
        out.buffer.resize(out.buffer.len() + to_usize(end - out.position()), 0);
        out.finish()?;
        self.segment.file.sync()?;
        assert_eq!(end, self.end + len, "a job has the length that was worked out for it");
        self.end = end;
        self.jobs += 1;
        self.total.digest = digest;
        self.total.records += to_u64(job.records.len());
        Ok(())
    }

    /// The segment as readers see it; `None` while it holds no record.
    pub(crate) fn view(&self) -> Option<Arc<SegmentView>> {
        Some(Arc::new(SegmentView {
            file: self.segment.clone(),
            spans: self.spans.spans().to_vec(),
            last: self.last?,
            end: self.end,
            total: self.total,
        }))
    }
}

fn commit_payload(job: &FlushJob) -> Vec<u8> {
    let mut payload = Vec::new();
    state::encode_meta(&mut payload, &job.meta);
    for delta in &job.deltas {
        state::encode_delta(&mut payload, delta.table, &delta.key, delta.value.as_ref());
    }
    payload
}

/// Writes a file front to back in large pieces.
pub(crate) struct Chunks<'a> {
    file: &'a dyn File,
    /// Where `buffer` goes.
    at: u64,
    pub(crate) buffer: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(file: &'a dyn File, at: u64) -> Chunks<'a> {
        Chunks { file, at, buffer: Vec::new() }
    }

    /// Where the next byte goes.
    pub(crate) fn position(&self) -> u64 {
        self.at + to_u64(self.buffer.len())
    }

    /// True if enough was gathered to be written.
    pub(crate) fn is_full(&self) -> bool {
        WRITE_BYTES <= self.buffer.len()
    }

    /// Writes what was gathered if it is enough.
    pub(crate) fn spill(&mut self) -> Result<()> {
        if self.is_full() { self.finish() } else { Ok(()) }
    }

    /// Writes what was gathered.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.file.write_at(&self.buffer, self.at)?;
        self.at += to_u64(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }
}
