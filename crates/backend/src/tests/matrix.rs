//! CM-1: every kind of damage at every kind of place, with no forbidden outcome.

use super::crash::models;
use super::crash::{Op, tiny};
use super::support::*;
use crate::{Backend, Config, Damage, Error, FlushJob, Pace};
use std::sync::Arc;
use types::Revision;
use vfs::Disk;
use vfs::sim::SimDisk;

/// What a start made of a damaged store.
#[derive(PartialEq, Debug)]
enum Outcome {
    /// R0: all is there.
    Whole,
    /// R1: the last job was cut.
    Cut,
    /// R2: refused, with file, offset and what to do.
    Refused,
}

/// A store with sealed and rewritten segments, tables, and an active segment of several jobs.
struct Fixture {
    disk: SimDisk,
    whole: Model,
    before_last: Model,
    /// Path of the active segment, and where its last job begins.
    active: String,
    last_job: usize,
}

fn fixture() -> Fixture {
    let disk = SimDisk::new();
    let mut ops = super::crash::ops();
    ops.push(Op::Flush(job(38..=39, 700)));
    ops.push(Op::Flush(job(40..=41, 700)));
    let config = tiny();
    let (mut backend, _) = Backend::create(Arc::new(disk.clone()), DIR, config).unwrap();
    let mut last_job = 0;
    for op in &ops {
        match op {
            Op::Flush(job) => {
                last_job = usize::try_from(backend.active.end).unwrap();
                backend.flush(job).unwrap();
            }
            Op::Rewrite => drop(backend.rewrite_step(Pace::Now).unwrap()),
        }
    }
    assert!(3 <= backend.segment_count() && 2 <= backend.active.jobs, "{backend:?}");
    let active = backend.active.segment.path.to_string();
    let models = models(&ops);
    let [.., before_last, whole] = &models[..] else { panic!("two jobs") };
    Fixture { disk, whole: whole.clone(), before_last: before_last.clone(), active, last_job }
}

impl Fixture {
    /// Damages a copy and says what a start makes of it; panics on a forbidden outcome.
    fn damaged(&self, case: &str, damage: impl FnOnce(&SimDisk)) -> Outcome {
        let disk = self.disk.snapshot();
        damage(&disk);
        let found =
            Backend::open(Arc::new(disk.clone()), DIR, tiny()).and_then(|(_, mut recovered)| {
                Ok((contents(&mut recovered)?, recovered.cut.is_some()))
            });
        let has = |model: &Model, found: &Model| {
            found.meta == model.meta
                && found.tables == model.tables
                && found.records == model.records
        };
        match found {
            Err(Error::Damage(damage)) => {
                let text = damage.to_string();
                assert!(text.contains(&damage.file) && text.contains("offset"), "{case}: {text}");
                assert!(text.contains("restore"), "{case}: {text}");
                Outcome::Refused
            }
            Err(error) => panic!("{case}: {error}"),
            Ok((found, _)) if has(&self.whole, &found) => Outcome::Whole,
            Ok((found, true)) if has(&self.before_last, &found) => Outcome::Cut,
            Ok((found, cut)) => {
                let (at, count) = (found.meta.revision, found.records.len());
                panic!("{case}: served revision {at} with {count} records, cut: {cut}")
            }
        }
    }

    /// As `damaged`, with an edit of one file; only the last job may be cut.
    fn edited(
        &self,
        path: &str,
        at: usize,
        what: &str,
        edit: impl FnOnce(&mut Vec<u8>),
    ) -> Outcome {
        let case = format!("{path} at {at}: {what}");
        let outcome = self.damaged(&case, |disk| assert!(disk.rot(path, edit)));
        if outcome == Outcome::Cut {
            assert!(path == self.active && self.last_job <= at, "{case}: a sealed job was cut");
        }
        outcome
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let names = self.disk.list(DIR).unwrap();
        let paths = names.iter().map(|name| format!("{DIR}/{name}"));
        paths.map(|path| (path.clone(), self.disk.cached(&path).unwrap())).collect()
    }
}

#[test]
fn the_fixture_itself_is_whole() {
    assert_eq!(fixture().damaged("untouched", |_| {}), Outcome::Whole);
}

#[test]
fn a_flipped_or_zeroed_byte_is_never_served() {
    let fixture = fixture();
    let mut counts = [0; 3];
    for (path, bytes) in fixture.files() {
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 64;
        // Frames everywhere: each record is hit several times, small files byte by byte.
        let stride = if used < 2_000 { 1 } else { 11 };
        for at in (0..used.min(bytes.len())).step_by(stride) {
            for (what, byte) in
                [("xor 01", bytes[at] ^ 1), ("xor ff", bytes[at] ^ 0xff), ("set 00", 0)]
            {
                if byte != bytes[at] {
                    let outcome = fixture.edited(&path, at, what, |file| file[at] = byte);
                    counts[outcome as usize] += 1;
                }
            }
        }
    }
    assert!(3_000 < counts[Outcome::Refused as usize], "{counts:?}");
    assert!(100 < counts[Outcome::Cut as usize], "{counts:?}");
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let fixture = fixture();
    for (path, bytes) in fixture.files() {
        for len in (0..bytes.len()).rev().step_by(97).chain([0, 1, bytes.len() - 1]) {
            let outcome = fixture.edited(&path, len, "truncate", |file| file.truncate(len));
            assert_eq!(outcome, Outcome::Refused, "{path} truncated to {len}");
        }
    }
}

#[test]
fn a_lost_or_misdirected_sector_is_never_served() {
    let fixture = fixture();
    let files = fixture.files();
    for (n, (path, bytes)) in files.iter().enumerate() {
        let (_, other) = &files[(n + 1) % files.len()];
        for at in (0..bytes.len()).step_by(512) {
            let to = (at + 512).min(bytes.len());
            fixture.edited(path, at, "zero sector", |file| file[at..to].fill(0));
            for (what, from) in [("sector of another file", at), ("sector of another place", 4096)]
            {
                if let Some(stale) = other.get(from..from + (to - at)) {
                    fixture.edited(path, at, what, |file| file[at..to].copy_from_slice(stale));
                }
            }
        }
    }
}

#[test]
fn two_jobs_that_changed_places_are_refused() {
    let fixture = fixture();
    let outcome = fixture.edited(&fixture.active, 4096, "swap blocks", |file| {
        let first = file[4096..8192].to_vec();
        file.copy_within(8192..12288, 4096);
        file[8192..12288].copy_from_slice(&first);
    });
    assert_eq!(outcome, Outcome::Refused);
}

#[test]
fn a_missing_doubled_or_foreign_file_is_refused() {
    let fixture = fixture();
    let files = fixture.files();
    let foreign = foreign();
    for (path, _) in &files {
        let refused = |what: &str, damage: &dyn Fn(&SimDisk)| {
            let outcome = fixture.damaged(&format!("{path}: {what}"), damage);
            assert_eq!(outcome, Outcome::Refused, "{path}: {what}");
        };
        refused("missing", &|disk| disk.remove(path).unwrap());
        refused("empty", &|disk| assert!(disk.rot(path, Vec::clear)));
        for (other, bytes) in &files {
            if other != path {
                refused("replaced", &|disk| disk.plant(path, bytes.clone()));
            }
        }
        if path.ends_with(".rec") {
            refused("foreign", &|disk| disk.plant(path, foreign.clone()));
        }
    }
}

/// The first segment of another store.
fn foreign() -> Vec<u8> {
    let disk = SimDisk::new();
    let config = Config { salt: 99, ..tiny() };
    let (mut backend, _) = Backend::create(Arc::new(disk.clone()), DIR, config).unwrap();
    backend.flush(&job(2..=5, 700)).unwrap();
    let path = backend.active.segment.path.to_string();
    disk.cached(&path).unwrap()
}

#[test]
fn an_old_manifest_does_not_remove_newer_segments() {
    let disk = SimDisk::new();
    let (mut backend, _) = Backend::create(Arc::new(disk.clone()), DIR, tiny()).unwrap();
    let manifest = format!("{DIR}/manifest");
    let old = disk.cached(&manifest).unwrap();
    for n in 0..10 {
        backend.flush(&job(n * 4 + 2..=n * 4 + 5, 700)).unwrap();
    }
    let before = files(&disk);
    disk.plant(&manifest, old);
    let error = Backend::open(Arc::new(disk.clone()), DIR, tiny()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Damage(_)), "{error}");
    assert_eq!(files(&disk), before);
    disk.remove(&manifest).unwrap();
    let error = Backend::open(Arc::new(disk.clone()), DIR, tiny()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Damage(Damage { .. })), "{error}");
}

#[test]
fn leftovers_of_a_step_that_was_cut_short_are_removed() {
    let fixture = fixture();
    let outcome = fixture.damaged("leftovers", |disk| {
        disk.plant(&format!("{DIR}/manifest.tmp"), vec![1, 2, 3]);
        disk.plant(&format!("{DIR}/00000000000000ff.rec"), vec![0; 8192]);
        disk.plant(&format!("{DIR}/00000000000000fe.tab"), vec![7; 100]);
        let before = files(disk).len();
        Backend::open(Arc::new(disk.clone()), DIR, tiny()).unwrap();
        assert_eq!(files(disk).len(), before - 3);
    });
    assert_eq!(outcome, Outcome::Whole);
}

/// UC-024: a check of damaged files panicked or looped. Here every damage is an error value.
#[test]
fn uc_024_reads_of_damaged_files_answer_an_error_or_the_right_bytes() {
    let fixture = fixture();
    let (backend, _) = Backend::open(Arc::new(fixture.disk.clone()), DIR, tiny()).unwrap();
    let reader = backend.reader();
    let (mut errors, mut hits) = (0, 0);
    for seed in 0..500_usize {
        let (path, bytes) = {
            let files = fixture.files();
            files[seed % files.len()].clone()
        };
        let at = seed * 7919 % bytes.len();
        fixture.disk.rot(&path, |file| file[at] ^= 1 << (seed % 8));
        for (revision, record) in &fixture.whole.records {
            match reader.get(*revision) {
                Ok(found) => {
                    assert_eq!(found.as_ref(), Some(record), "{path} at {at}");
                    hits += 1;
                }
                Err(Error::Damage(_)) => errors += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let _ = reader.verify();
        fixture.disk.rot(&path, |file| file[at] ^= 1 << (seed % 8));
    }
    assert!(0 < errors && 0 < hits, "{errors} errors, {hits} hits");
    assert_eq!(reader.verify().unwrap(), fixture.whole.records.len() as u64);
}

/// UC-031: a store that was cut short under the process or before the start.
#[test]
fn uc_031_a_shortened_store_is_refused_and_a_running_one_answers_an_error() {
    let fixture = fixture();
    let (backend, _) = Backend::open(Arc::new(fixture.disk.clone()), DIR, tiny()).unwrap();
    let reader = backend.reader();
    let (path, bytes) =
        fixture.files().into_iter().find(|(path, _)| path.ends_with(".rec")).unwrap();
    fixture.disk.rot(&path, |file| file.truncate(bytes.len() * 3 / 4));
    let newest: Vec<Revision> = fixture.whole.records.keys().copied().collect();
    assert!(newest.iter().any(|at| matches!(reader.get(*at), Err(Error::Damage(_)))));
    let error = Backend::open(Arc::new(fixture.disk.snapshot()), DIR, tiny()).map(|_| ());
    assert!(error.unwrap_err().to_string().contains("shorter"));
}

#[test]
fn a_missing_segment_that_is_not_noticed_is_caught() {
    let fixture = fixture();
    let (path, _) = fixture.files().into_iter().find(|(path, _)| path.ends_with(".rec")).unwrap();
    fixture.disk.remove(&path).unwrap();
    let mutant = Some(crate::Mutant::MissingSegmentNotNoticed);
    let config = Config { mutant, ..tiny() };
    let (_, mut recovered) = Backend::open(Arc::new(fixture.disk.clone()), DIR, config).unwrap();
    assert_ne!(contents(&mut recovered).unwrap(), fixture.whole, "the bug changes what is served");
    assert_eq!(fixture.damaged("missing segment", |_| {}), Outcome::Refused);
}

#[test]
fn a_rewrite_of_a_damaged_segment_drops_nothing() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    for n in 0..20 {
        backend.flush(&job(n * 5 + 2..=n * 5 + 6, 700)).unwrap();
    }
    let removals = (2..60).step_by(2).map(|main| Revision::new(main, 0)).collect();
    backend.flush(&FlushJob { removals, ..job(200..=201, 10) }).unwrap();
    let before = files(&disk);
    let sealed = format!("{DIR}/{}", before.iter().find(|name| name.ends_with(".rec")).unwrap());
    disk.rot(&sealed, |file| file[5_000] ^= 1);
    let damaged = loop {
        match backend.rewrite_step(Pace::Now) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the damaged segment was passed over"),
            Err(error) => break error,
        }
    };
    assert!(matches!(&damaged, Error::Damage(damage) if damage.file == sealed), "{damaged}");
    assert!(files(&disk).iter().any(|name| sealed.ends_with(name)), "the damaged file was kept");
    assert!(open(&disk.snapshot()).is_ok_and(|(_, r)| r.reader.verify().is_err()));
}
