//! Flush, read back, reopen.

use super::support::*;
use crate::{Backend, Error, FlushJob, Pace};
use types::{Record, Revision};
use vfs::sim::SimDisk;

#[test]
fn what_was_flushed_is_read_back_and_found_by_a_start() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let mut model = Model::default();
    for n in 0..40 {
        let job = job(n * 5 + 2..=n * 5 + 6, 300);
        model.flush(&job);
        let reader = backend.flush(&job).unwrap();
        assert_eq!(reader.get(Revision::new(n * 5 + 4, 0)).unwrap(), job.records.get(2).cloned());
        assert_eq!(reader.meta(), &job.meta);
    }
    assert!(2 < backend.segment_count(), "the jobs fill several segments");
    drop(backend);
    disk.power_loss(&mut |_| 0);
    let (_, mut recovered) = open(&disk).unwrap();
    assert_eq!(recovered.cut, None);
    assert_eq!(contents(&mut recovered).unwrap(), model);
}

#[test]
fn a_job_larger_than_a_segment_gets_a_segment_of_its_own_size() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let mut model = Model::default();
    for job in [job(2..=3, 10), job(4..=10, 20_000), job(11..=12, 10)] {
        model.flush(&job);
        backend.flush(&job).unwrap();
    }
    let (_, mut recovered) = open(&disk.snapshot()).unwrap();
    assert_eq!(contents(&mut recovered).unwrap(), model);
}

#[test]
fn a_job_without_records_moves_the_state() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    backend.flush(&FlushJob { meta: meta(7), ..FlushJob::default() }).unwrap();
    let (_, recovered) = open(&disk.snapshot()).unwrap();
    assert_eq!(recovered.meta, meta(7));
}

#[test]
fn get_many_answers_in_the_order_asked_and_none_for_what_is_not_there() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let jobs: Vec<FlushJob> = (0..30).map(|n| job(n * 4 + 2..=n * 4 + 4, 900)).collect();
    let mut reader = backend.reader();
    for job in &jobs {
        reader = backend.flush(job).unwrap();
    }
    let asked: Vec<Revision> = (0..130).rev().map(|main| Revision::new(main, 0)).collect();
    let found = reader.get_many(&asked).unwrap();
    for (revision, found) in asked.iter().zip(found) {
        let expected = jobs.iter().flat_map(|job| &job.records).find(|r| r.revision == *revision);
        assert_eq!(found.as_ref(), expected);
        assert_eq!(reader.get(*revision).unwrap().as_ref(), expected);
    }
}

#[test]
fn a_scan_ends_at_a_border_of_main_revisions() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let mut job = job(2..=2, 100);
    job.records.clear();
    for main in 2..60 {
        for sub in 0..3 {
            job.records.push(put(main, sub, &format!("k{sub}"), &value(500, main)));
        }
    }
    job.meta = meta(60);
    let reader = backend.flush(&job).unwrap();
    let (mut from, mut got) = (5, Vec::new());
    loop {
        let history = reader.scan(from, 50, 2000).unwrap();
        assert_eq!(history.records.len() % 3, 0, "a main revision is never split");
        got.extend(history.records);
        match history.next {
            Some(next) => from = next,
            None => break,
        }
    }
    let expected = job.records.into_iter().filter(|r| (5..=50).contains(&r.revision.main));
    assert_eq!(got, expected.collect::<Vec<_>>());
    assert_eq!(reader.scan(61, 70, 10).unwrap().records, []);
}

#[test]
fn an_empty_folder_is_missing_and_a_store_is_not_created_twice() {
    let disk = SimDisk::new();
    assert!(matches!(open(&disk), Err(Error::Missing { .. })));
    create(&disk);
    let again = Backend::create(std::sync::Arc::new(disk.clone()), DIR, config());
    assert!(matches!(again, Err(Error::Refused(_))));
}

#[test]
fn garbage_is_given_back_and_old_readers_keep_what_they_saw() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let mut model = Model::default();
    for n in 0..40 {
        let job = job(n * 5 + 2..=n * 5 + 6, 300);
        model.flush(&job);
        backend.flush(&job).unwrap();
    }
    let (before, old) = (backend.size(), backend.reader());
    let seen = all(&old).unwrap();
    let removals: Vec<Revision> =
        model.records.keys().rev().copied().filter(|r| r.main % 4 != 0).collect();
    let last = FlushJob { removals, ..job(300..=300, 10) };
    model.flush(&last);
    backend.flush(&last).unwrap();
    let mut steps = 0;
    while let Some(step) = backend.rewrite_step(Pace::Now).unwrap() {
        steps += 1;
        assert!(step.bytes_written < 33_000, "a step writes one segment");
        assert!(steps < 100, "reclaim comes to an end");
    }
    assert_eq!(backend.garbage(), 0);
    assert!(backend.size() < before / 2, "{} of {before} bytes are left", backend.size());
    assert_eq!(all(&old).unwrap(), seen);
    assert_eq!(
        all(&backend.reader()).unwrap(),
        model.records.values().cloned().collect::<Vec<_>>()
    );
    let (_, mut recovered) = open(&disk.snapshot()).unwrap();
    assert_eq!(contents(&mut recovered).unwrap(), model);
}

#[test]
fn a_delete_marker_stays_while_older_versions_of_its_key_may_be_there() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    // An old segment with one version of the key among much that lives, and a newer one that is
    // garbage but for one record.
    let mut old = job(2..=60, 400);
    old.records.insert(0, put(1, 0, "gone", b"old"));
    backend.flush(&old).unwrap();
    let mut newer = job(62..=140, 400);
    newer.records.insert(0, tombstone(61, 0, "gone"));
    backend.flush(&newer).unwrap();
    let dead = (61..=130).map(|main| Revision::new(main, 0)).collect::<Vec<_>>();
    let removals = [vec![Revision::new(1, 0)], dead].concat();
    backend.flush(&FlushJob { removals, ..job(300..=400, 400) }).unwrap();
    while backend.rewrite_step(Pace::Paced).unwrap().is_some() {}
    let versions = |backend: &Backend| {
        let of_key = |record: &Record| record.kv.windows(4).any(|part| part == b"gone");
        let found = all(&backend.reader()).unwrap().into_iter().filter(of_key);
        found.map(|record| record.tombstone).collect::<Vec<bool>>()
    };
    assert_eq!(versions(&backend), [false, true], "the marker must not go first");
    while backend.rewrite_step(Pace::Now).unwrap().is_some() {}
    assert_eq!(versions(&backend), []);
    assert_eq!(backend.garbage(), 0);
}
