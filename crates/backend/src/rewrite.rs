//! Space reclaim: copies the live records of segments with garbage into a new one.
//!
//! A delete marker that is garbage hides older versions of its key from a start, which works out
//! anew what is garbage. So it stays as long as any older segment holds garbage: those versions
//! are garbage too, and may be there.

use crate::active::{self, Chunks};
use crate::backend::{Backend, SealedSegment};
use crate::config::BLOCK;
use crate::dead::{DeadSet, SPAN_MAIN_MAX};
use crate::error::{Error, Result};
use crate::format::{
    self, COMMIT_HEADER, JOB_HEADER, JobHeader, JobKind, block_after, to_u64, to_usize,
};
use crate::manifest;
use crate::reader::Reader;
use crate::scan::{Step, Walk};
use crate::segment::{SegmentFile, SegmentView, SpanBuilder, Total};
use std::ops::Range;
use std::sync::Arc;
use types::Revision;

/// How eager a rewrite is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Only what pays: segments above the share of garbage in the configuration.
    Paced,
    /// Every segment that holds garbage, also the active one: Defragment.
    Now,
}

/// What one step of a rewrite did.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// Reads the new files; older readers keep the old ones.
    pub reader: Reader,
    /// Bytes that the step gave back.
    pub bytes_freed: u64,
    /// Bytes that the step wrote.
    pub bytes_written: u64,
}

/// Live records in a new segment.
struct Copied {
    listed: manifest::Sealed,
    view: Arc<SegmentView>,
    /// Delete markers that are garbage but had to stay.
    kept: Vec<Revision>,
}

impl Backend {
    /// Rewrites one segment (with small neighbours) that holds garbage: one atomic step of the
    /// manifest. `None` if there is nothing that pays. A full disk changes nothing.
    pub fn rewrite_step(&mut self, pace: Pace) -> Result<Option<Rewritten>> {
        self.check_usable()?;
        self.guarded(|backend| {
            if pace == Pace::Now && 0 < backend.active.dead.count() {
                backend.seal(0)?;
            }
            if backend.candidates(pace)?.is_none() {
                return Ok(None);
            }
            // A start may cut the last job of the active segment and go back to the state before
            // it. What is garbage because of that job must be there then: so the job is sealed
            // before anything is dropped.
            if 0 < backend.active.jobs {
                backend.seal(0)?;
            }
            match backend.candidates(pace)? {
                Some(run) => backend.rewrite(run).map(Some),
                None => Ok(None),
            }
        })
    }

    /// The sealed segments to rewrite together.
    fn candidates(&self, pace: Pace) -> Result<Option<Range<usize>>> {
        let share = match pace {
            Pace::Paced => u64::from(self.config.garbage_percent).max(1),
            Pace::Now => 0,
        };
        // On a full disk only what fits can be copied.
        let room = self.disk.available()?;
        let mut worthy = (0..self.sealed.len())
            .filter(|at| {
                let dead = self.droppable(*at);
                0 < dead && share * self.sealed[*at].listed.records <= dead * 100
            })
            .filter(|at| self.sealed[*at].live_bytes() + 4 * BLOCK <= room);
        let worst = match pace {
            // Oldest first: what is rewritten later has no older garbage then.
            Pace::Now => worthy.next(),
            Pace::Paced => worthy.max_by_key(|at| {
                let records = self.sealed[*at].listed.records.max(1);
                (self.droppable(*at) * 1000 / records, usize::MAX - at)
            }),
        };
        match worst {
            Some(at) => Ok(Some(self.grow(at..at + 1, room))),
            None => Ok(self.small_neighbours(room)),
        }
    }

    /// True if a segment before this one holds garbage.
    fn has_older_garbage(&self, at: usize) -> bool {
        self.sealed[..at].iter().any(|older| 0 < older.dead.count())
    }

    /// Records of a segment that a rewrite would drop, as far as is known.
    fn droppable(&self, at: usize) -> u64 {
        let sealed = &self.sealed[at];
        let kept = if self.has_older_garbage(at) { sealed.kept } else { 0 };
        sealed.dead.count().saturating_sub(kept)
    }

    /// Takes neighbours in as long as all fits one segment.
    fn grow(&self, mut run: Range<usize>, room: u64) -> Range<usize> {
        let limit = self.config.segment_bytes.min(room);
        loop {
            let left = run.start.checked_sub(1).map(|start| start..run.end);
            let right = (run.end < self.sealed.len()).then(|| run.start..run.end + 1);
            let wider = [right, left].into_iter().flatten().find(|wider| {
                let live: u64 =
                    self.sealed[wider.clone()].iter().map(SealedSegment::live_bytes).sum();
                live + 4 * BLOCK <= limit && self.spans_few_mains(wider)
            });
            match wider {
                Some(wider) => run = wider,
                None => return run,
            }
        }
    }

    fn spans_few_mains(&self, run: &Range<usize>) -> bool {
        let first = self.sealed[run.start].listed.first.main;
        self.sealed[run.end - 1].listed.last.main - first <= SPAN_MAIN_MAX
    }

    /// Two neighbours that fill less than half a segment together: keeps the files few.
    fn small_neighbours(&self, room: u64) -> Option<Range<usize>> {
        let limit = (self.config.segment_bytes / 2).min(room);
        (1..self.sealed.len())
            .map(|at| at - 1..at + 1)
            .find(|run| {
                let bytes: u64 = self.sealed[run.clone()].iter().map(|s| s.listed.len).sum();
                bytes + 4 * BLOCK <= limit && self.spans_few_mains(run)
            })
            .map(|run| self.grow(run, limit))
    }

    fn rewrite(&mut self, run: Range<usize>) -> Result<Rewritten> {
        let before = self.size();
        let mut next = self.manifest.clone();
        let id = next.next_id;
        next.next_id += 1;
        let copied = self.copy(&run, id)?;
        let bytes_written = copied.as_ref().map_or(0, |copied| copied.listed.len);
        next.sealed.splice(run.clone(), copied.iter().map(|copied| copied.listed.clone()));
        let made = copied.as_ref().map(|copied| copied.view.file.path.clone());
        self.disk.sync_dir(&self.dir)?;
        if let Err(error) = next.write(&*self.disk, &self.dir) {
            if let (Error::NoSpace(_), Some(path)) = (&error, made) {
                self.remove(&path)?;
            }
            return Err(error);
        }
        self.manifest = next;
        let new = copied.map(|Copied { listed, view, kept }| {
            let mut dead = DeadSet::default();
            dead.extend(listed.first, &kept);
            SealedSegment { listed, view, kept: dead.count(), dead }
        });
        let old: Vec<SealedSegment> = self.sealed.splice(run, new).collect();
        for sealed in &old {
            self.remove(&sealed.view.file.path)?;
        }
        let bytes_freed = before.saturating_sub(self.size());
        Ok(Rewritten { reader: self.reader(), bytes_freed, bytes_written })
    }

    /// Copies the live records of a run of segments; `None` if a walk found none: a count of
    /// garbage is never enough to drop a segment. Without records, and on a full disk, no file
    /// is left behind.
    fn copy(&self, run: &Range<usize>, id: u64) -> Result<Option<Copied>> {
        let ids = (self.manifest.salt, id);
        let segment = active::create(&*self.disk, &self.dir, ids, BLOCK)?;
        let path = segment.path.clone();
        let mut copy = Copy::new(segment);
        copy.keeps_markers = self.has_older_garbage(run.start);
        let copied = copy.run(&self.sealed[run.clone()]);
        if let Ok(None) | Err(Error::NoSpace(_)) = copied {
            self.remove(&path)?;
        }
        copied
    }
}

impl SealedSegment {
    fn live_records(&self) -> u64 {
        self.listed.records.saturating_sub(self.dead.count())
    }

    /// Bytes that a copy takes, by the mean length of a record.
    fn live_bytes(&self) -> u64 {
        let data = self.listed.end - BLOCK;
        BLOCK + data / self.listed.records.max(1) * self.live_records()
    }
}

/// A copy in progress.
struct Copy {
    segment: SegmentFile,
    spans: SpanBuilder,
    total: Total,
    first: Option<Revision>,
    last: Option<Revision>,
    /// Delete markers stay, though they are garbage.
    keeps_markers: bool,
    kept: Vec<Revision>,
}

impl Copy {
    fn new(segment: SegmentFile) -> Copy {
        let (spans, total) = (SpanBuilder::default(), Total { records: 0, digest: 0 });
        let kept = Vec::new();
        Copy { segment, spans, total, first: None, last: None, keeps_markers: false, kept }
    }

    /// Copies what is live of `sources` as one job, and seals it.
    fn run(mut self, sources: &[SealedSegment]) -> Result<Option<Copied>> {
        let file = self.segment.file.clone();
        let seed = self.segment.seed;
        let mut out = Chunks::new(&*file, BLOCK + to_u64(JOB_HEADER));
        for source in sources {
            self.copy_live(source, &mut out)?;
        }
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return Ok(None);
        };
        self.spans.close();
        let commit = to_u64(COMMIT_HEADER);
        let digest = self.total.digest;
        self.total.digest = format::encode_commit(&mut out.buffer, &[], seed, digest);
        let body = out.position() - BLOCK - to_u64(JOB_HEADER);
        let end = block_after(out.position());
        out.buffer.resize(out.buffer.len() + to_usize(end - out.position()), 0);
        out.buffer.extend_from_slice(&format::encode_footer(self.spans.spans(), seed));
        let len = out.position();
        file.allocate(len).map_err(Error::allocating)?;
        out.finish()?;
        let header = JobHeader {
            kind: JobKind::Copy,
            number: 0,
            body,
            records: u32::try_from(self.total.records).expect("a segment is bounded in bytes"),
            commit: u32::try_from(commit).expect("a frame header is small"),
            digest: 0,
        };
        file.write_at(&header.encode(seed), BLOCK)?;
        file.set_len(len)?;
        file.sync()?;
        let Total { records, digest } = self.total;
        let listed =
            manifest::Sealed { id: self.segment.id, end, len, records, first, last, digest };
        let spans = self.spans.spans().to_vec();
        let (file, total) = (self.segment, self.total);
        let view = Arc::new(SegmentView { file, spans, last, end, total });
        Ok(Some(Copied { listed, view, kept: self.kept }))
    }

    fn copy_live(&mut self, source: &SealedSegment, out: &mut Chunks<'_>) -> Result<()> {
        let mut walk = Walk::new(source.view.file.clone(), source.view.end);
        let mut cursor = 0;
        loop {
            let record = match walk.step()? {
                Step::End => break,
                Step::Record(_, record) => record,
                _ => continue,
            };
            if source.dead.contains(source.listed.first, record.revision, &mut cursor) {
                if !record.tombstone || !self.keeps_markers {
                    continue;
                }
                self.kept.push(record.revision);
            }
            let frame = format::record_frame_len(record.kv);
            self.spans.add(record.revision, out.position(), frame);
            let parts = (record.revision, record.tombstone, record.kv);
            let seed = self.segment.seed;
            let digest = self.total.digest;
            self.total.digest = format::encode_record(&mut out.buffer, parts, seed, digest);
            self.total.records += 1;
            self.first.get_or_insert(record.revision);
            self.last = Some(record.revision);
            if out.is_full() {
                self.segment.file.allocate(out.position()).map_err(Error::allocating)?;
                out.finish()?;
            }
        }
        // Nothing may be dropped on the word of a damaged segment.
        if walk.total != source.view.total {
            let what = "a segment does not add up to what was sealed";
            return Err(source.view.file.damage(walk.position(), walk.last, what).into());
        }
        Ok(())
    }
}
