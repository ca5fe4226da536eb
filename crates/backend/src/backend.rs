//! The writer: flush jobs into the active segment, seal it when it is full.

use crate::active::{self, Active};
use crate::config::{BLOCK, Config};
use crate::dead::DeadSet;
use crate::error::{Error, Result};
use crate::format::{self, block_after, to_u64};
use crate::job::{FlushJob, Meta};
use crate::manifest::{self, Manifest};
use crate::reader::Reader;
use crate::segment::SegmentView;
use crate::tables::{self, Pending};
use std::sync::Arc;
use types::Revision;
use vfs::Disk;

/// Segment size where the disk has no room for the usual one.
const SEGMENT_BYTES_FULL: u64 = 256 * 1024;
/// Largest job: keeps every position in a segment within 32 bits.
const JOB_BYTES_MAX: u64 = 1 << 31;

/// A sealed segment in memory.
pub(crate) struct SealedSegment {
    pub(crate) listed: manifest::Sealed,
    pub(crate) view: Arc<SegmentView>,
    pub(crate) dead: DeadSet,
    /// How many of the dead are delete markers that the last rewrite had to keep.
    pub(crate) kept: u64,
}

/// The store's only writer. After an error other than `NoSpace` it refuses everything: the
/// process ends, and a start reads what is really there.
pub struct Backend {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: String,
    pub(crate) config: Config,
    /// Invariant: what the manifest on disk says.
    pub(crate) manifest: Manifest,
    /// In revision order, as in the manifest.
    pub(crate) sealed: Vec<SealedSegment>,
    pub(crate) active: Active,
    /// The state after the last job.
    pub(crate) meta: Meta,
    /// Table changes since the manifest.
    pub(crate) pending: Pending,
    /// True once a write failed.
    pub(crate) failed: bool,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Backend({}, {} sealed, {:?})", self.dir, self.sealed.len(), self.meta)
    }
}

impl Backend {
    /// Makes one job durable, in one atomic step. After `NoSpace` nothing has changed and the
    /// job may be given again.
    pub fn flush(&mut self, job: &FlushJob) -> Result<Reader> {
        self.check_usable()?;
        self.check_job(job)?;
        #[cfg(any(test, feature = "mutants"))]
        if self.config.has(crate::Mutant::AppliedOutsideStep) {
            let early = FlushJob { meta: job.meta.clone(), ..FlushJob::default() };
            self.guarded(|backend| backend.flush_checked(&early))?;
        }
        self.guarded(|backend| backend.flush_checked(job))?;
        Ok(self.reader())
    }

    fn flush_checked(&mut self, job: &FlushJob) -> Result<()> {
        let (len, _) = active::job_len(job);
        if !self.has_room(job, len) {
            self.seal(len)?;
        }
        let number = self.manifest.job + self.active.jobs + 1;
        self.active.append(job, number)?;
        self.meta = job.meta.clone();
        tables::note(&mut self.pending, &job.deltas);
        self.mark_dead(&job.removals);
        Ok(())
    }

    /// True if the active segment takes the job.
    fn has_room(&self, job: &FlushJob, len: u64) -> bool {
        let last = job.records.last().map_or(0, |record| record.revision.main);
        let span = self.active.first.map_or(0, |first| last - first.main);
        self.active.end + len <= self.active.allocated && span <= crate::dead::SPAN_MAIN_MAX
    }

    fn check_job(&self, job: &FlushJob) -> Result<()> {
        let last = job.records.last().map(|record| record.revision);
        let before = self.last_revision();
        let first = job.records.first().map(|record| record.revision);
        assert!(
            self.meta.applied <= job.meta.applied,
            "applied index goes back from {} to {}",
            self.meta.applied,
            job.meta.applied
        );
        assert!(
            before.is_none() || first.is_none() || before < first,
            "record {first:?} does not follow {before:?}"
        );
        assert!(
            last.is_none_or(|last| last.main <= job.meta.revision),
            "record {last:?} lies beyond the revision {}",
            job.meta.revision
        );
        let (len, _) = active::job_len(job);
        if JOB_BYTES_MAX < len {
            return Err(Error::Refused(format!("a flush job of {len} bytes is too large")));
        }
        Ok(())
    }

    /// Revision of the newest record.
    fn last_revision(&self) -> Option<Revision> {
        self.active.last.or(self.sealed.last().map(|sealed| sealed.listed.last))
    }

    pub(crate) fn check_usable(&self) -> Result<()> {
        if self.failed {
            return Err(Error::Refused(
                "a write to the store failed before: the process must end".to_owned(),
            ));
        }
        Ok(())
    }

    /// Runs a change; after any error but a full disk nothing may be written again.
    pub(crate) fn guarded<T>(
        &mut self,
        change: impl FnOnce(&mut Backend) -> Result<T>,
    ) -> Result<T> {
        let result = change(self);
        if !matches!(result, Ok(_) | Err(Error::NoSpace(_))) {
            self.failed = true;
        }
        result
    }

    /// Closes the active segment and opens one that takes a job of `job_len` bytes: one atomic
    /// step of the manifest.
    pub(crate) fn seal(&mut self, job_len: u64) -> Result<()> {
        let sealed = self.write_footer()?;
        let result = self.replace_active(sealed.clone(), job_len);
        if let (Err(Error::NoSpace(_)), Some(sealed)) = (&result, sealed) {
            // The segment stays the active one: nothing but zeros follows its last job.
            let zeros = vec![0; format::to_usize(sealed.len - sealed.end)];
            self.active.segment.file.write_at(&zeros, sealed.end)?;
        }
        result
    }

    fn replace_active(&mut self, sealed: Option<manifest::Sealed>, job_len: u64) -> Result<()> {
        let mut next = self.manifest.clone();
        let id = next.next_id;
        next.next_id += 2;
        next.job += self.active.jobs;
        next.meta = self.meta.clone();
        next.active = id;
        next.sealed.extend(sealed.clone());
        let least = block_after(BLOCK + job_len);
        let mut allocated = self.config.segment_bytes.max(least);
        let ids = (self.manifest.salt, id);
        let mut created = active::create(&*self.disk, &self.dir, ids, allocated);
        if matches!(created, Err(Error::NoSpace(_))) && least < allocated {
            // On a full disk a short segment will do.
            allocated = least.max(SEGMENT_BYTES_FULL).min(allocated);
            created = active::create(&*self.disk, &self.dir, ids, allocated);
        }
        let segment = created?;
        segment.file.sync()?;
        let old_tables = next.tables.clone();
        let step = |next: &mut Manifest| {
            next.tables =
                tables::write(&*self.disk, &self.dir, id + 1, (&old_tables, &self.pending))?;
            self.disk.sync_dir(&self.dir)?;
            next.write(&*self.disk, &self.dir)
        };
        if let Err(error) = step(&mut next) {
            if let Error::NoSpace(_) = error {
                self.remove(&segment.path)?;
                self.remove(&manifest::path(&self.dir, &tables::name_of(id + 1)))?;
            }
            return Err(error);
        }
        self.sealed_by(next, sealed, Active::new(segment, allocated))?;
        for file in old_tables {
            if !self.manifest.tables.contains(&file) {
                self.remove(&manifest::path(&self.dir, &tables::name_of(file.id)))?;
            }
        }
        Ok(())
    }

    /// Writes the index behind the active segment's last job; `None` if it holds no record and
    /// is left out instead. Until the manifest lists it the footer means nothing.
    fn write_footer(&mut self) -> Result<Option<manifest::Sealed>> {
        let active = &self.active;
        let (Some(first), Some(last)) = (active.first, active.last) else { return Ok(None) };
        let footer = format::encode_footer(active.spans.spans(), active.segment.seed);
        let len = active.end + to_u64(footer.len());
        if active.allocated < len {
            active.segment.file.allocate(len).map_err(Error::allocating)?;
        }
        active.segment.file.write_at(&footer, active.end)?;
        active.segment.file.sync()?;
        Ok(Some(manifest::Sealed {
            id: active.segment.id,
            end: active.end,
            len,
            records: active.total.records,
            first,
            last,
            digest: active.total.digest,
        }))
    }

    /// The manifest names a new active segment: follow it in memory.
    fn sealed_by(
        &mut self,
        next: Manifest,
        sealed: Option<manifest::Sealed>,
        active: Active,
    ) -> Result<()> {
        self.manifest = next;
        self.pending.clear();
        let old = std::mem::replace(&mut self.active, active);
        match (sealed, old.view()) {
            (Some(listed), Some(view)) => {
                // Gives back what was allocated and not used. Not synced: a start does it again.
                old.segment.file.set_len(listed.len)?;
                self.sealed.push(SealedSegment { listed, view, dead: old.dead, kept: 0 });
            }
            _ => self.remove(&old.segment.path)?,
        }
        Ok(())
    }

    /// Removes a file that no manifest lists. Not synced: a start does it again.
    pub(crate) fn remove(&self, path: &str) -> Result<()> {
        manifest::remove_if_present(&*self.disk, path)
    }

    /// Marks records as garbage; unknown ones are ignored.
    fn mark_dead(&mut self, removals: &[Revision]) {
        let mut sorted = removals.to_vec();
        sorted.sort();
        let mut rest = &sorted[..];
        for segment in &mut self.sealed {
            let here = rest.partition_point(|revision| *revision <= segment.listed.last);
            segment.dead.extend(segment.listed.first, &rest[..here]);
            rest = &rest[here..];
        }
        if let Some(first) = self.active.first {
            let here = rest.partition_point(|revision| Some(*revision) <= self.active.last);
            self.active.dead.extend(first, &rest[..here]);
        }
    }

    /// A snapshot of what is durable.
    pub fn reader(&self) -> Reader {
        let mut segments: Vec<_> = self.sealed.iter().map(|sealed| sealed.view.clone()).collect();
        segments.extend(self.active.view());
        Reader::new(self.meta.clone(), segments, self.size())
    }

    /// The state after the last job.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Bytes of all files of the store, the active segment as far as it is written. Neither the
    /// reserve nor space that was allocated ahead counts.
    pub fn size(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|sealed| sealed.listed.len).sum();
        let tables: u64 = self.manifest.tables.iter().map(|file| file.len).sum();
        sealed + tables + self.active.end + self.manifest.encoded_len()
    }

    /// Records that are garbage and not yet removed.
    pub fn garbage(&self) -> u64 {
        self.sealed.iter().map(|sealed| sealed.dead.count()).sum::<u64>() + self.active.dead.count()
    }

    /// Segment files.
    pub fn segment_count(&self) -> usize {
        self.sealed.len() + 1
    }
}
