//! A full disk is a state, not a failure: it ends by itself.

use super::support::*;
use crate::{Error, FlushJob, Pace, Reserve};
use std::sync::Arc;
use types::Revision;
use vfs::sim::{CallKind, Fault, SimDisk};

#[test]
fn a_flush_on_a_full_disk_changes_nothing_and_works_later() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let mut model = Model::default();
    let capacity = 100 * 1024;
    disk.set_capacity(Some(capacity));
    let mut main = 2;
    let blocked = loop {
        let next = job(main..=main + 3, 900);
        match backend.flush(&next) {
            Ok(_) => model.flush(&next),
            Err(Error::NoSpace(_)) => break next,
            Err(error) => panic!("{error}"),
        }
        main += 4;
    };
    assert!(main > 30, "some jobs fit");
    assert_eq!(all(&backend.reader()).unwrap().len(), model.records.len(), "reads go on");
    let (_, mut recovered) = open(&disk.snapshot()).expect("a start works on a full disk");
    assert_eq!(contents(&mut recovered).unwrap(), model);
    for _ in 0..3 {
        assert!(matches!(backend.flush(&blocked), Err(Error::NoSpace(_))));
    }
    disk.set_capacity(None);
    backend.flush(&blocked).unwrap();
    model.flush(&blocked);
    let (_, mut recovered) = open(&disk.snapshot()).unwrap();
    assert_eq!(recovered.cut, None);
    assert_eq!(contents(&mut recovered).unwrap(), model);
}

#[test]
fn no_space_at_any_allocation_leaves_the_store_usable() {
    for kind in [CallKind::Create, CallKind::Allocate] {
        for nth in 0.. {
            let disk = SimDisk::new();
            let mut backend = create(&disk);
            let mut model = Model::default();
            disk.fail(Some(kind), nth, Fault::NoSpace);
            for n in 0..30 {
                let mut next = job(n * 4 + 2..=n * 4 + 5, 900);
                if n % 5 == 4 {
                    next.removals = (n * 4 - 10..n * 4).map(|m| Revision::new(m, 0)).collect();
                }
                match backend.flush(&next) {
                    Ok(_) => {}
                    Err(Error::NoSpace(_)) => drop(backend.flush(&next).unwrap()),
                    Err(error) => panic!("{error}"),
                }
                model.flush(&next);
                match backend.rewrite_step(Pace::Now) {
                    Ok(_) | Err(Error::NoSpace(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            while backend.rewrite_step(Pace::Now).unwrap().is_some() {}
            let (_, mut recovered) = open(&disk.snapshot()).unwrap();
            assert_eq!(recovered.cut, None);
            assert_eq!(contents(&mut recovered).unwrap(), model);
            let stray: usize = files(&disk).iter().filter(|name| name.ends_with(".tmp")).count();
            assert_eq!(stray, 0);
            if 0 < disk.faults_left() {
                assert!(5 < nth, "only {nth} calls of {kind:?}");
                break;
            }
        }
    }
}

#[test]
fn from_the_reserve_a_full_disk_gives_space_back() {
    let disk = SimDisk::new();
    let mut reserve = Reserve::open(Arc::new(disk.clone()), "", 48 * 1024).unwrap();
    assert!(reserve.refill(0).unwrap());
    assert_eq!(disk.cached("reserve").unwrap().len(), 48 * 1024);
    let mut backend = create(&disk);
    let mut main = 2;
    disk.set_capacity(Some(200 * 1024));
    let blocked = loop {
        let next = job(main..=main + 3, 900);
        match backend.flush(&next) {
            Ok(_) => main += 4,
            Err(Error::NoSpace(_)) => break next,
            Err(error) => panic!("{error}"),
        }
    };
    let removals = (2..main - 4).filter(|m| m % 3 != 0).map(|m| Revision::new(m, 0)).collect();
    let compaction = FlushJob { removals, meta: meta(main), ..FlushJob::default() };
    reserve.release_down_to(4096).unwrap();
    backend.flush(&compaction).unwrap();
    while backend.rewrite_step(Pace::Now).unwrap().is_some() {}
    let again = FlushJob { meta: meta(main + 4), ..blocked };
    backend.flush(&again).expect("there is space again");
    assert!(reserve.refill(0).unwrap(), "the reserve is taken again");
    assert_eq!(reserve.held(), 48 * 1024);
}

#[test]
fn the_reserve_stays_as_it_is_while_the_disk_has_no_room() {
    let disk = SimDisk::new();
    disk.set_capacity(Some(10_000));
    let mut reserve = Reserve::open(Arc::new(disk.clone()), "", 8_000).unwrap();
    assert!(!reserve.refill(4_000).unwrap(), "the margin counts");
    assert!(reserve.refill(1_000).unwrap());
    reserve.release_down_to(2_000).unwrap();
    disk.fail(Some(CallKind::Allocate), 0, Fault::NoSpace);
    assert!(!reserve.refill(0).unwrap());
    assert_eq!(reserve.held(), 2_000);
    drop(reserve);
    let mut reserve = Reserve::open(Arc::new(disk), "", 8_000).unwrap();
    assert_eq!(reserve.held(), 2_000);
    reserve.release_down_to(0).unwrap();
    assert_eq!(reserve.held(), 0);
}

/// UC-008: Defragment without a compaction before made the file larger.
#[test]
fn uc_008_defragment_of_live_data_never_grows_the_store() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    for n in 0..50 {
        backend.flush(&job(n * 4 + 2..=n * 4 + 5, 700)).unwrap();
    }
    let before = backend.size();
    while backend.rewrite_step(Pace::Now).unwrap().is_some() {}
    assert!(backend.size() <= before, "{before} bytes grew to {}", backend.size());
    backend.flush(&FlushJob { removals: vec![Revision::new(9, 0)], ..job(500..=500, 10) }).unwrap();
    let before = backend.size();
    while backend.rewrite_step(Pace::Now).unwrap().is_some() {}
    assert!(backend.size() <= before, "{before} bytes grew to {}", backend.size());
}

/// A job needs little more than its own length, also where a whole segment has no room.
#[test]
fn on_a_full_disk_a_short_segment_takes_the_job() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    backend.config.segment_bytes = 1 << 20;
    disk.set_capacity(Some(900 * 1024));
    for n in 0..40 {
        backend.flush(&job(n * 8 + 2..=n * 8 + 9, 900)).unwrap();
    }
    assert!(2 < backend.segment_count(), "the first segment did not take all");
    let (_, mut recovered) = open(&disk.snapshot()).unwrap();
    assert_eq!(contents(&mut recovered).unwrap().records.len(), 320);
}
