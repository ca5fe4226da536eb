//! The log on the real disk, and the log that an earlier version wrote.

use super::fixture::*;
use crate::*;
use ::types::Index;
use std::path::Path;
use std::sync::Arc;
use vfs::OsDisk;
use vfs::sim::SimDisk;

#[test]
fn the_real_disk_keeps_a_log_that_rolls_trims_and_recycles() {
    let dir = tempfile::tempdir().unwrap();
    let disk = || Arc::new(OsDisk::open(&dir.path().join("data")).unwrap());
    let small = config(64 << 10);
    let shared = disk();
    let made = Wal::create(shared.clone(), "member/wal", small.clone(), IDENTITY, "m".into());
    let mut wal = made.unwrap().0;
    assert!(wal.prepare().unwrap());
    for index in 1..=60 {
        wal.append(&put(index, 300 * (index as usize % 20))).unwrap();
        wal.trim(Index(index.max(30) - 30)).unwrap();
    }
    wal.append(&put(61, 200_000)).unwrap();
    drop((wal, shared));
    let (wal, recovered) = Wal::open(disk(), "member/wal", small, Some(IDENTITY)).unwrap();
    let expected: Vec<Entry> = (recovered.base.index.0 + 1..=61)
        .map(|index| {
            entry(index, 1, if index == 61 { 200_000 } else { 300 * (index as usize % 20) })
        })
        .collect();
    assert!(30 <= expected.len(), "{} entries", expected.len());
    assert_eq!(recovered.entries, expected);
    assert_eq!((recovered.boot, recovered.cut), (2, None));
    let first = wal.reader().first_index().unwrap();
    assert_eq!(wal.reader().entries(first, Index(61), usize::MAX).unwrap(), expected);
}

/// A log as version 1 of the format has it: later versions must open it. `UPDATE=1` writes it.
#[test]
fn a_log_of_version_1_is_opened() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/v1");
    if std::env::var_os("UPDATE").is_some() {
        let disk = SimDisk::new();
        write_v1(&disk);
        std::fs::create_dir_all(&folder).unwrap();
        for sequence in [1, 2] {
            let bytes = disk.cached(&path(sequence)).unwrap();
            std::fs::write(folder.join(segment::name(sequence)), bytes).unwrap();
        }
    }
    let disk = SimDisk::new();
    for sequence in [1, 2] {
        let bytes = std::fs::read(folder.join(segment::name(sequence))).unwrap();
        disk.plant(&path(sequence), bytes);
    }
    let (_, recovered) = open(&disk, config(16 << 10)).unwrap();
    let expected: Vec<Entry> =
        [(1, 1), (2, 2), (3, 2), (4, 2)].map(|(index, term)| entry(index, term, 1500)).to_vec();
    assert_eq!(recovered.entries, expected);
    assert_eq!(Frame::HardState(recovered.hard_state), hard_state(2, 9, 3));
    assert_eq!((&recovered.membership[..], recovered.boot), (&b"two members"[..], 2));
}

fn write_v1(disk: &SimDisk) {
    let mut wal = create(disk, config(16 << 10));
    let put = |index, term| Frame::Entry(entry(index, term, 1500));
    let batches = [
        vec![put(1, 1), put(2, 1), put(3, 1), hard_state(1, 1, 1)],
        vec![put(2, 2), put(3, 2), hard_state(2, 9, 1)],
        vec![Frame::Membership("two members".into()), put(4, 2), hard_state(2, 9, 3)],
        vec![Frame::Seal],
    ];
    for frames in batches {
        wal.append(&Batch { frames }).unwrap();
    }
}
