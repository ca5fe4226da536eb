//! Start: what the manifest lists must be there and be what it says; what it does not list goes.

use crate::active::{self, Active};
use crate::backend::{Backend, SealedSegment};
use crate::config::{BLOCK, Config};
use crate::dead::DeadSet;
use crate::error::{Damage, Error, Result};
use crate::format::{self, JOB_HEADER, SEGMENT_HEADER, SegmentHeader, to_u64, to_usize};
use crate::job::{Meta, Tables};
use crate::manifest::{self, Manifest};
use crate::reader::Reader;
use crate::replay::{self, Cut};
use crate::scan::{self, Scan};
use crate::segment::{self, SegmentFile, SegmentView, Total};
use crate::tables::{self, Pending};
use std::collections::BTreeSet;
use std::sync::Arc;
use vfs::{Disk, Open};

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
        let replayed = replay::replay(&mut active, &manifest)?;
        remove_unlisted(&*disk, dir, &manifest, manifest.job + active.jobs)?;
        replay::settle(&active, replayed.last_job)?;
        // What start has read may be in the page cache only: a kill keeps it, a power loss not.
        disk.sync_dir(dir)?;
        sync_parents(&*disk, dir)?;
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
            #[cfg(any(test, feature = "mutants"))]
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
        sealed.push(SealedSegment {
            listed: listed.clone(),
            view,
            dead: DeadSet::default(),
            kept: 0,
        });
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
