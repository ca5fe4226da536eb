//! What is appended comes back; rolling, trimming, recycling, reading old entries.

use super::fixture::*;
use crate::*;
use ::types::{Index, Term};
use vfs::Disk;
use vfs::sim::SimDisk;

#[test]
fn what_was_appended_comes_back_after_a_power_loss() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(64 << 10));
    for index in 1..=40 {
        wal.append(&put(index, 100 * index as usize)).unwrap();
    }
    wal.append(&Batch { frames: vec![hard_state(2, 3, 40)] }).unwrap();
    disk.power_loss(&mut |_| 0);
    let (wal, recovered) = open(&disk, config(64 << 10)).unwrap();
    let expected: Vec<Entry> = (1..=40).map(|i| entry(i, 1, 100 * i as usize)).collect();
    assert_eq!(recovered.entries, expected);
    assert_eq!(Frame::HardState(recovered.hard_state), hard_state(2, 3, 40));
    assert_eq!((recovered.boot, recovered.cut), (2, None));
    assert_eq!(&recovered.membership[..], b"members");
    let all = wal.reader().entries(Index(1), Index(40), usize::MAX).unwrap();
    assert_eq!(all, expected);
    assert_eq!(wal.reader().entries(Index(17), Index(19), 1).unwrap(), expected[16..17]);
}

#[test]
fn a_batch_costs_one_write_and_one_sync() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(64 << 10));
    disk.start_trace();
    wal.append(&put(1, 6000)).unwrap();
    let calls: Vec<_> = disk.take_trace().iter().map(|call| (call.kind, call.len)).collect();
    use vfs::sim::CallKind::{Sync, Write};
    assert_eq!(calls, [(Write, 8192), (Sync, 0)]);
}

#[test]
fn a_batch_larger_than_a_segment_gets_one_of_its_own() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(16 << 10));
    wal.append(&put(1, 50_000)).unwrap();
    wal.append(&put(2, 10)).unwrap();
    drop(wal);
    let (mut wal, recovered) = open(&disk, config(16 << 10)).unwrap();
    assert_eq!(recovered.entries, [entry(1, 1, 50_000), entry(2, 1, 10)]);
    wal.append(&Batch { frames: vec![hard_state(1, 1, 2)] }).unwrap();
    wal.trim(Index(2)).unwrap();
    let names = disk.list("member/wal").unwrap();
    assert_eq!(names, ["0000000000000004.wal", "spare-0000000000000005", "spare-0000000000000006"]);
}

#[test]
fn trimmed_segments_are_used_again() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(16 << 10));
    for index in 1..=50 {
        wal.append(&put(index, 3000)).unwrap();
        wal.trim(Index(index.max(5) - 5)).unwrap();
    }
    assert!(wal.size() <= 6 * (16 << 10), "{} bytes", wal.size());
    let error = wal.reader().entries(Index(3), Index(50), usize::MAX).unwrap_err();
    let Error::Trimmed(first) = error else { panic!("{error}") };
    disk.power_loss(&mut |_| 0);
    let (wal, recovered) = open(&disk, config(16 << 10)).unwrap();
    assert_eq!(recovered.base, Position { index: Index(first.0 - 1), term: Term(1) });
    assert_eq!(recovered.last().index, Index(50));
    assert_eq!(wal.reader().first_index(), Some(first));
    assert_eq!(recovered.entries.len() as u64, 51 - first.0);
}

#[test]
fn a_lower_index_replaces_the_entries_from_there_on() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(16 << 10));
    for index in 1..=5 {
        let frames = vec![Frame::Entry(entry(index, 1, 3000)), hard_state(1, 0, 2)];
        let frames = if index < 2 { frames[..1].to_vec() } else { frames };
        wal.append(&Batch { frames }).unwrap();
    }
    let replaced = vec![Frame::Entry(entry(4, 2, 10)), hard_state(2, 0, 3)];
    wal.append(&Batch { frames: replaced }).unwrap();
    let expected: Vec<_> = [(1, 1, 3000), (2, 1, 3000), (3, 1, 3000), (4, 2, 10)]
        .map(|(index, term, len)| entry(index, term, len))
        .to_vec();
    let read = |wal: &Wal| wal.reader().entries(Index(1), Index(9), usize::MAX).unwrap();
    assert_eq!(read(&wal), expected);
    let (wal, recovered) = open(&disk, config(16 << 10)).unwrap();
    assert_eq!(recovered.entries, expected);
    assert_eq!(read(&wal), expected);
}

#[test]
fn an_install_voids_the_entries_before_it() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(16 << 10));
    wal.append(&put(1, 10)).unwrap();
    let position = Position { index: Index(90), term: Term(4) };
    let install = Install { position, data: "sha".into() };
    let frames = vec![Frame::Install(install.clone()), hard_state(4, 0, 90)];
    wal.append(&Batch { frames }).unwrap();
    wal.append(&Batch { frames: vec![Frame::Entry(entry(91, 4, 10))] }).unwrap();
    let (wal, recovered) = open(&disk, config(16 << 10)).unwrap();
    assert_eq!(recovered.base, position);
    assert_eq!(recovered.install, Some(install));
    assert_eq!(recovered.entries, [entry(91, 4, 10)]);
    assert_eq!(wal.reader().first_index(), Some(Index(91)));
}

#[test]
fn sealing_twice_writes_once_and_a_batch_breaks_the_seal() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(64 << 10));
    wal.append(&put(1, 10)).unwrap();
    wal.seal().unwrap();
    let before = disk.effects();
    wal.seal().unwrap();
    assert_eq!((disk.effects(), wal.is_sealed()), (before, true));
    wal.append(&put(2, 10)).unwrap();
    assert!(!wal.is_sealed());
}

#[test]
fn rules_are_checked_before_anything_is_written() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(64 << 10));
    wal.append(&put(1, 10)).unwrap();
    wal.append(&put(2, 10)).unwrap();
    let before = disk.effects();
    let cases = [
        (vec![Frame::Entry(entry(4, 1, 1))], "entries are missing before this one"),
        (vec![Frame::Entry(entry(1, 2, 1))], "an entry replaces a committed one"),
        (vec![Frame::Entry(entry(3, 0, 1))], "the term of an entry is below"),
        (vec![hard_state(1, 1, 3)], "the commit index is beyond the end of the log"),
        (vec![hard_state(0, 1, 2)], "the hard state goes back"),
        (vec![hard_state(1, 2, 2)], "the vote changes within a term"),
        (vec![Frame::Boot(7)], "boot numbers are not consecutive"),
        (vec![Frame::Trim(Index(2))], "entries were trimmed that are not committed"),
        (vec![Frame::Membership(vec![0; 4000].into())], "the member list is too long"),
    ];
    for (frames, rule) in cases {
        let error = wal.append(&Batch { frames }).unwrap_err();
        assert!(error.to_string().contains(rule), "{error}");
    }
    assert_eq!(disk.effects(), before);
    wal.append(&put(3, 10)).unwrap();
}

#[test]
fn a_full_disk_refuses_a_segment_and_keeps_the_reserve() {
    let disk = SimDisk::new();
    let with_reserve = WalConfig { reserve: 1, ..config(16 << 10) };
    let mut wal = create(&disk, with_reserve);
    assert!(wal.prepare().unwrap());
    disk.set_capacity(Some(wal.size()));
    let mut index = 1;
    let error = loop {
        match wal.append(&put(index, 3000)) {
            Ok(()) => index += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::NoSpace(_)), "{error}");
    assert_eq!(wal.room(), 12 << 10);
    wal.append_with(&put(index, 3000), Use::Reserve).unwrap();
    disk.set_capacity(None);
    assert!(wal.prepare().unwrap());
    for index in index + 1..=index + 9 {
        wal.append(&put(index, 3000)).unwrap();
    }
}

#[test]
fn a_folder_without_a_log_and_a_foreign_log_are_refused() {
    let disk = SimDisk::new();
    let error = open(&disk, config(16 << 10)).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "there is no log in member/wal: no segment file was found");
    drop(create(&disk, config(16 << 10)));
    let other = Identity { cluster: ::types::ClusterId(8), ..IDENTITY };
    let shared = std::sync::Arc::new(disk.clone());
    let opened = Wal::open(shared.clone(), "member/wal", config(16 << 10), Some(other));
    let error = opened.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("belongs to member 1 of cluster 7"), "{error}");
    let made = Wal::create(shared, "member/wal", config(16 << 10), other, Default::default());
    assert!(matches!(made, Err(Error::Refused(_))));
}
