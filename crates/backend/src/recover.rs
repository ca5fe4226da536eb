//! Start: what the manifest lists must be there; the tail of the active segment may be cut.
//!
//! ```text
//! active: | header | job 7 | job 8 | job 9 torn |  zeros ...
//!                                   ^ cut here: nothing of a job 10 lies behind
//! ```
//!
//! Job k+1 is not written before the sync of job k returned, so only the last job may be
//! incomplete after a crash. A valid header of a later job behind a bad place therefore means
//! damage. The log still covers the last job: it is trimmed up to the last but one.

use crate::active::{self, Active};
use crate::backend::{Backend, SealedSegment};
use crate::config::{BLOCK, Config};
use crate::dead::DeadSet;
use crate::error::{Damage, Error, Result};
use crate::format::{self, Cursor, JOB_HEADER, SEGMENT_HEADER, SegmentHeader, to_u64, to_usize};
use crate::job::{Delta, Meta, Tables};
use crate::manifest::{self, Manifest};
use crate::reader::Reader;
use crate::scan::{self, Scan, Step, Walk};
use crate::segment::{self, SegmentFile, SegmentView, Total};
use crate::tables::{self, Pending};
use std::collections::BTreeSet;
use std::sync::Arc;
use vfs::{Disk, Open};

/// Bytes that a start reads at a time where it does not walk.
const PIECE: u64 = 512 * 1024;

/// What a start found.
#[derive(Debug)]
pub struct Recovered {
    /// The state after the last whole job.
    pub meta: Meta,
    /// The small tables after that job.
    pub tables: Tables,
    /// Reads the records.
    pub reader: Reader,
    /// All records in revision order. The segments are whole only once it came to its end
    /// without an error.
    pub scan: Scan,
    /// An incomplete last job that was cut, for the log.
    pub cut: Option<Cut>,
}

/// An incomplete last job that was cut off; the log has its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The file.
    pub file: String,
    /// Where the job began.
    pub offset: u64,
    /// What was wrong with it.
    pub reason: String,
}

/// What the jobs of the active segment add up to.
struct Replayed {
    meta: Meta,
    deltas: Vec<Delta>,
    /// Where the last job begins, if there is one.
    last_job: Option<u64>,
    cut: Option<Cut>,
}

impl Backend {
    /// Creates an empty store. A folder with a store is refused.
    pub fn create(disk: Arc<dyn Disk>, dir: &str, config: Config) -> Result<(Backend, Recovered)> {
        disk.create_dir(dir)?;
        if Manifest::read(&*disk, dir)?.is_some() {
            return Err(Error::Refused(format!("{dir} holds a store already")));
        }
        refuse_lost_manifest(&*disk, dir)?;
        let (id, salt) = (1, config.salt);
        let segment = active::create(&*disk, dir, (salt, id), config.segment_bytes)?;
        segment.file.sync()?;
        disk.sync_dir(dir)?;
        let manifest = Manifest { salt, next_id: id + 1, active: id, ..Manifest::default() };
        manifest.write(&*disk, dir)?;
        sync_parents(&*disk, dir)?;
        Backend::open(disk, dir, config)
    }

    /// Opens a store, or says why not. `Error::Missing` if the folder holds none.
    pub fn open(disk: Arc<dyn Disk>, dir: &str, config: Config) -> Result<(Backend, Recovered)> {
        let Some(manifest) = read_manifest(&*disk, dir)? else {
            refuse_lost_manifest(&*disk, dir)?;
            return Err(Error::Missing { dir: dir.to_owned() });
        };
        let sealed = open_sealed(&*disk, dir, &manifest, &config)?;
        let mut tables = tables::read(&*disk, dir, &manifest.tables)?;
        let mut active = open_active(&*disk, dir, &manifest)?;
        active.last = sealed.last().map(|sealed| sealed.listed.last);
        let replayed = replay(&mut active, &manifest)?;
        remove_unlisted(&*disk, dir, &manifest, manifest.job + active.jobs)?;
        settle(&active, replayed.last_job)?;
        // What start has read may be in the page cache only: a kill keeps it, a power loss not.
        disk.sync_dir(dir)?;
        let mut pending = Pending::new();
        tables::note(&mut pending, &replayed.deltas);
        tables::apply(&mut tables, replayed.deltas);
        let (dir, meta) = (dir.to_owned(), replayed.meta);
        let backend = Backend {
            disk,
            dir,
            config,
            manifest,
            sealed,
            active,
            meta: meta.clone(),
            pending,
            failed: false,
        };
        let reader = backend.reader();
        let scan = reader.scan_all();
        Ok((backend, Recovered { meta, tables, reader, scan, cut: replayed.cut }))
    }
}

/// Makes the folder itself durable.
fn sync_parents(disk: &dyn Disk, dir: &str) -> Result<()> {
    let mut dir = dir;
    while !dir.is_empty() {
        dir = dir.rsplit_once('/').map_or("", |(parent, _)| parent);
        disk.sync_dir(dir)?;
    }
    Ok(())
}

fn read_manifest(disk: &dyn Disk, dir: &str) -> Result<Option<Manifest>> {
    match Manifest::read(disk, dir) {
        Err(Error::Vfs(error)) if error.kind == vfs::ErrorKind::NotFound => Ok(None),
        other => other,
    }
}

/// Segments with jobs but without a manifest are not an empty folder.
fn refuse_lost_manifest(disk: &dyn Disk, dir: &str) -> Result<()> {
    let names = match disk.list(dir) {
        Ok(names) => names,
        Err(error) if error.kind == vfs::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let segments: Vec<&String> = names.iter().filter(|n| segment::id_of(n).is_some()).collect();
    for name in &segments {
        if 1 < segments.len() || first_flush_job(disk, dir, name)?.is_some() {
            let what = "the manifest is missing, but there are segments";
            let file = manifest::path(dir, manifest::NAME);
            return Err(Damage { file, offset: 0, after: None, what }.into());
        }
    }
    Ok(())
}

/// Number of the first flush job in a segment file, by its own header.
fn first_flush_job(disk: &dyn Disk, dir: &str, name: &str) -> Result<Option<u64>> {
    let file = disk.open(&manifest::path(dir, name), Open::Read)?;
    if file.len()? < BLOCK + to_u64(JOB_HEADER) {
        return Ok(None);
    }
    let mut head = [0; SEGMENT_HEADER];
    file.read_at(&mut head, 0)?;
    let Some(header) = SegmentHeader::decode(&head) else { return Ok(None) };
    let mut job = [0; JOB_HEADER];
    file.read_at(&mut job, BLOCK)?;
    Ok(scan::flush_number(&job, format::seed_of(header.salt, header.id)))
}

/// Opens a listed segment file and checks that it is the one meant.
fn open_segment(
    disk: &dyn Disk,
    dir: &str,
    (salt, id): (u64, u64),
    how: Open,
) -> Result<Option<(SegmentFile, SegmentHeader)>> {
    let path = manifest::path(dir, &segment::name_of(id));
    let file = match disk.open(&path, how) {
        Ok(file) => file,
        Err(error) if error.kind == vfs::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let segment = SegmentFile { id, path: path.into(), file, seed: format::seed_of(salt, id) };
    let mut head = [0; SEGMENT_HEADER];
    match segment.file.read_at(&mut head, 0) {
        Err(error) if error.kind == vfs::ErrorKind::ShortRead => {
            return Err(segment.damage(0, None, "the file is cut short").into());
        }
        other => other?,
    }
    let Some(header) = SegmentHeader::decode(&head) else {
        return Err(segment.damage(0, None, "the segment header fails its checksum").into());
    };
    if header.id != id || header.salt != salt {
        return Err(segment.damage(0, None, "the segment belongs elsewhere").into());
    }
    Ok(Some((segment, header)))
}

fn missing(dir: &str, id: u64, after: Option<types::Revision>) -> Error {
    let file = manifest::path(dir, &segment::name_of(id));
    let what = "the manifest lists this segment, but it is missing";
    Damage { file, offset: 0, after, what }.into()
}

fn open_sealed(
    disk: &dyn Disk,
    dir: &str,
    manifest: &Manifest,
    config: &Config,
) -> Result<Vec<SealedSegment>> {
    let mut sealed: Vec<SealedSegment> = Vec::new();
    for listed in &manifest.sealed {
        let after = sealed.last().map(|before| before.listed.last);
        let ids = (manifest.salt, listed.id);
        let Some((file, _)) = open_segment(disk, dir, ids, Open::Write)? else {
            #[cfg(feature = "mutants")]
            if config.has(crate::Mutant::MissingSegmentNotNoticed) {
                continue;
            }
            let _ = config;
            return Err(missing(dir, listed.id, after));
        };
        let len = file.file.len()?;
        if len < listed.len {
            let what = "the segment is shorter than the manifest says";
            return Err(file.damage(len, after, what).into());
        }
        if listed.len < len {
            // Allocated ahead and given back by the seal, which the power cut undid.
            file.file.set_len(listed.len)?;
        }
        let mut footer = vec![0; to_usize(listed.len.saturating_sub(listed.end))];
        file.file.read_at(&mut footer, listed.end)?;
        let spans = format::decode_footer(&footer, file.seed)
            .filter(|spans| spans.first().is_some_and(|span| span.first == listed.first))
            .ok_or_else(|| file.damage(listed.end, after, "the segment's index is damaged"))?;
        if spans.iter().any(|span| listed.end < u64::from(span.offset) + u64::from(span.len)) {
            return Err(file.damage(listed.end, after, "the segment's index is damaged").into());
        }
        let total = Total { records: listed.records, digest: listed.digest };
        let (last, end) = (listed.last, listed.end);
        let view = Arc::new(SegmentView { file, spans, last, end, total });
        sealed.push(SealedSegment { listed: listed.clone(), view, dead: DeadSet::default() });
    }
    Ok(sealed)
}

fn open_active(disk: &dyn Disk, dir: &str, manifest: &Manifest) -> Result<Active> {
    let after = manifest.sealed.last().map(|sealed| sealed.last);
    let ids = (manifest.salt, manifest.active);
    let Some((file, header)) = open_segment(disk, dir, ids, Open::Write)? else {
        return Err(missing(dir, manifest.active, after));
    };
    let len = file.file.len()?;
    if len < header.allocated {
        let what = "the segment is shorter than its header says";
        return Err(file.damage(len, after, what).into());
    }
    Ok(Active::new(file, header.allocated))
}

/// Walks the jobs of the active segment and stops at the last whole one.
fn replay(active: &mut Active, manifest: &Manifest) -> Result<Replayed> {
    let mut replayed =
        Replayed { meta: manifest.meta.clone(), deltas: Vec::new(), last_job: None, cut: None };
    let before = active.last.take();
    let mut walk = Walk::new(active.segment.clone(), active.allocated);
    walk.last = before;
    let error = loop {
        let start = walk.position();
        if start == active.allocated || blank(active, start)? {
            return Ok(replayed);
        }
        match replay_job(active, &mut walk, manifest.job + active.jobs + 1) {
            Ok((meta, deltas)) => {
                active.end = walk.position();
                active.jobs += 1;
                active.total = walk.total;
                active.last = if walk.last == before { None } else { walk.last };
                replayed.meta = meta;
                replayed.deltas.extend(deltas);
                replayed.last_job = Some(start);
            }
            Err(Error::Damage(damage)) => break damage,
            Err(error) => return Err(error),
        }
    };
    active.spans.truncate(spans_before(active));
    if active.last.is_none() {
        active.first = None;
    }
    replayed.cut = cut_tail(active, manifest.job + active.jobs + 1, error)?;
    Ok(replayed)
}

/// One job: its records go to the index of `active`, its state is returned.
fn replay_job(active: &mut Active, walk: &mut Walk, number: u64) -> Result<(Meta, Vec<Delta>)> {
    let start = walk.position();
    let what = "the state in a commit frame cannot be parsed";
    active.spans.close();
    loop {
        match walk.step()? {
            Step::Job | Step::End => {}
            Step::Record(offset, record) => {
                let frame = format::record_frame_len(record.kv);
                active.spans.add(record.revision, offset, frame);
                active.first.get_or_insert(record.revision);
            }
            Step::Commit(header, payload) => {
                let mut cursor = Cursor(payload);
                let meta = format::decode_meta(&mut cursor);
                let deltas = tables::decode(&mut cursor);
                let damage = |what| active.segment.damage(start, None, what);
                let meta = meta.ok_or_else(|| damage(what))?;
                let deltas = deltas.ok_or_else(|| damage(what))?;
                if header.number != number || header.kind != format::JobKind::Flush {
                    return Err(damage("a job has the wrong number").into());
                }
                active.spans.close();
                return Ok((meta, deltas));
            }
        }
    }
}

/// Spans of whole jobs.
fn spans_before(active: &Active) -> usize {
    let spans = active.spans.spans();
    spans.partition_point(|span| u64::from(span.offset) < active.end)
}

/// True if nothing but zeros follows: no job was begun.
fn blank(active: &Active, start: u64) -> Result<bool> {
    let mut piece = vec![0; to_usize(PIECE)];
    for at in (start..active.allocated).step_by(to_usize(PIECE)) {
        piece.resize(to_usize(PIECE.min(active.allocated - at)), 0);
        active.segment.file.read_at(&mut piece, at)?;
        if piece.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a flush job with a number from `number` on begins in a block from `start` on.
fn later_job(active: &Active, start: u64, number: u64) -> Result<bool> {
    let mut at = start;
    let mut head = [0; JOB_HEADER];
    while at + to_u64(JOB_HEADER) <= active.allocated {
        active.segment.file.read_at(&mut head, at)?;
        if scan::flush_number(&head, active.segment.seed).is_some_and(|found| number <= found) {
            return Ok(true);
        }
        at += BLOCK;
    }
    Ok(false)
}

/// Clears what lies behind the last whole job, unless it proves that a later job was written.
fn cut_tail(active: &Active, number: u64, damage: Damage) -> Result<Option<Cut>> {
    if later_job(active, active.end, number + 1)? {
        return Err(damage.into());
    }
    let file = &active.segment.file;
    let mut footer = false;
    for at in (active.end..active.allocated).step_by(to_usize(BLOCK)) {
        let mut block = vec![0; to_usize(BLOCK.min(active.allocated - at))];
        file.read_at(&mut block, at)?;
        footer |= at == active.end && format::is_footer(&block, active.segment.seed);
        if block.iter().any(|byte| *byte != 0) {
            block.fill(0);
            file.write_at(&block, at)?;
        }
    }
    file.sync()?;
    // A footer there is of a seal that was cut short: nothing was lost.
    let (file, offset) = (damage.file.clone(), active.end);
    Ok((!footer).then(|| Cut { file, offset, reason: damage.to_string() }))
}

/// Makes durable what start has read: the last job may be in the page cache only, and after a
/// failed sync its pages may even be clean. Writing the same bytes again is safe at any crash.
fn settle(active: &Active, last_job: Option<u64>) -> Result<()> {
    let Some(start) = last_job else { return Ok(()) };
    let mut at = start;
    while at < active.end {
        let mut bytes = vec![0; to_usize(PIECE.min(active.end - at))];
        active.segment.file.read_at(&mut bytes, at)?;
        active.segment.file.write_at(&bytes, at)?;
        at += to_u64(bytes.len());
    }
    active.segment.file.sync()?;
    Ok(())
}

/// Removes what a step that was cut short left behind. A segment with jobs that this manifest
/// does not know means that the manifest is the wrong one.
fn remove_unlisted(disk: &dyn Disk, dir: &str, manifest: &Manifest, job: u64) -> Result<()> {
    let mut listed: BTreeSet<String> =
        manifest.sealed.iter().map(|sealed| segment::name_of(sealed.id)).collect();
    listed.insert(segment::name_of(manifest.active));
    listed.extend(manifest.tables.iter().map(|file| tables::name_of(file.id)));
    for name in disk.list(dir)? {
        let ours = name.ends_with(".rec") || name.ends_with(".tab") || name == manifest::TEMP;
        if !ours || listed.contains(&name) {
            continue;
        }
        if segment::id_of(&name).is_some()
            && first_flush_job(disk, dir, &name)?.is_some_and(|found| job < found)
        {
            let what = "a segment has later jobs than the manifest knows: the manifest is old";
            let file = manifest::path(dir, &name);
            return Err(Damage { file, offset: BLOCK, after: None, what }.into());
        }
        manifest::remove_if_present(disk, &manifest::path(dir, &name))?;
    }
    Ok(())
}
