//! Behaviour of the module above, as sentences.

use super::choices::{Exhaustive, Seeded};
use super::*;

fn put(disk: &SimDisk, path: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = disk.open(path, Open::Create).unwrap();
    file.write_at(bytes, 0).unwrap();
    file
}

#[test]
fn a_kill_keeps_the_page_cache_and_a_power_loss_drops_it() {
    let disk = SimDisk::new();
    let file = put(&disk, "f", b"durable");
    file.sync().unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(b"D", 0).unwrap();
    put(&disk, "g", b"new");
    disk.kill();
    assert_eq!(disk.cached("f").unwrap(), b"Durable");
    assert_eq!(disk.cached("g").unwrap(), b"new");
    assert_eq!(file.write_at(b"x", 0).unwrap_err().kind, ErrorKind::Io);
    let device = disk.open("f", Open::ReadDevice).unwrap();
    let mut buf = [0; 7];
    device.read_at(&mut buf, 0).unwrap();
    assert_eq!((&buf, device.reads_device()), (b"durable", true));
    disk.power_loss(&mut |_| 0);
    assert_eq!(disk.cached("f").unwrap(), b"durable");
    assert_eq!(disk.cached("g"), None);
}

#[test]
fn every_sector_is_kept_dropped_or_torn_in_any_order() {
    let disk = SimDisk::new();
    let file = put(&disk, "f", &[1; 3 * SECTOR]);
    file.sync().unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(&[2; 2 * SECTOR], SECTOR as u64).unwrap();
    let mut all = Exhaustive::default();
    let mut seen = Vec::new();
    loop {
        let copy = disk.snapshot();
        copy.power_loss(&mut |n| all.choose(n));
        let bytes = copy.cached("f").unwrap();
        let sectors = bytes.chunks(SECTOR / 2).map(|half| half[0]).collect::<Vec<u8>>();
        seen.push(sectors[2..].to_vec());
        if !all.advance() {
            break;
        }
    }
    assert_eq!(seen.len(), 9);
    for outcome in [[1, 1, 1, 1], [1, 1, 2, 2], [2, 1, 2, 2], [2, 2, 1, 1], [2, 2, 2, 1]] {
        assert!(seen.contains(&outcome.to_vec()), "{outcome:?} in {seen:?}");
    }
}

#[test]
fn growth_without_data_reads_as_zeros() {
    let disk = SimDisk::new();
    let file = put(&disk, "f", b"a");
    file.sync().unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(&[7; 2 * SECTOR], 0).unwrap();
    let mut choices = [1, 0, 0].into_iter();
    disk.power_loss(&mut |_| choices.next().unwrap());
    let mut expected = vec![0; 2 * SECTOR];
    expected[0] = b'a';
    assert_eq!(disk.cached("f").unwrap(), expected);
}

#[test]
fn changes_of_names_wait_for_the_sync_of_the_folder() {
    let disk = SimDisk::new();
    disk.create_dir("d").unwrap();
    disk.sync_dir("").unwrap();
    put(&disk, "d/a", b"a").sync().unwrap();
    put(&disk, "d/b", b"b").sync().unwrap();
    disk.sync_dir("d").unwrap();
    disk.rename("d/a", "d/b").unwrap();
    disk.remove("d/b").unwrap();
    let lost = disk.snapshot();
    lost.power_loss(&mut |_| 0);
    assert_eq!(lost.list("d").unwrap(), ["a", "b"]);
    let half = disk.snapshot();
    let mut choices = [1, 0].into_iter();
    half.power_loss(&mut |_| choices.next().unwrap());
    assert_eq!(half.cached("d/b").unwrap(), b"a");
    disk.sync_dir("d").unwrap();
    disk.power_loss(&mut |_| 0);
    assert_eq!(disk.list("d").unwrap(), Vec::<String>::new());
}

#[test]
fn a_folder_that_was_not_synced_takes_its_files_along() {
    let disk = SimDisk::new();
    disk.create_dir("d").unwrap();
    put(&disk, "d/a", b"a").sync().unwrap();
    disk.sync_dir("d").unwrap();
    disk.power_loss(&mut |_| 0);
    assert_eq!(disk.list("").unwrap(), Vec::<String>::new());
}

#[test]
fn a_failed_sync_leaves_clean_pages_that_are_not_durable() {
    let disk = SimDisk::new();
    let file = put(&disk, "f", b"old");
    file.sync().unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(b"new", 0).unwrap();
    disk.fail(Some(CallKind::Sync), 0, Fault::Io);
    assert_eq!(file.sync().unwrap_err().errno, 5);
    file.sync().unwrap();
    assert_eq!(disk.cached("f").unwrap(), b"new");
    assert_eq!(disk.durable("f").unwrap(), b"old");
    disk.power_loss(&mut |_| 1);
    assert_eq!(disk.cached("f").unwrap(), b"old");
}

#[test]
fn faults_strike_the_call_that_was_named() {
    let disk = SimDisk::new();
    let file = put(&disk, "f", b"");
    disk.fail(Some(CallKind::Write), 1, Fault::Short);
    disk.fail(Some(CallKind::Rename), 0, Fault::NoSpace);
    file.write_at(b"abcd", 0).unwrap();
    assert_eq!(disk.faults_left(), 2);
    assert_eq!(file.write_at(b"wxyz", 4).unwrap_err().kind, ErrorKind::Io);
    assert_eq!(disk.cached("f").unwrap(), b"abcdwx");
    assert_eq!(disk.rename("f", "g").unwrap_err().kind, ErrorKind::NoSpace);
    file.write_at(b"!", 0).unwrap();
    assert_eq!(disk.faults_left(), 0);
}

#[test]
fn a_stop_lets_so_many_effects_happen_and_nothing_after() {
    let disk = SimDisk::new();
    let file = put(&disk, "f", b"abc");
    disk.stop_after(1);
    file.write_at(b"A", 0).unwrap();
    file.read_at(&mut [0; 3], 0).unwrap();
    assert!(file.write_at(b"B", 1).is_err());
    assert!(file.read_at(&mut [0; 3], 0).is_err());
    assert!(disk.has_stopped());
    disk.kill();
    assert_eq!(disk.cached("f").unwrap(), b"Abc");
}

#[test]
fn the_capacity_bounds_growth_and_can_be_lifted() {
    let disk = SimDisk::new();
    disk.set_capacity(Some(10));
    let file = put(&disk, "f", b"12345");
    assert_eq!(disk.available().unwrap(), 5);
    assert_eq!(file.allocate(11).unwrap_err().kind, ErrorKind::NoSpace);
    assert_eq!(file.write_at(b"123456", 5).unwrap_err().kind, ErrorKind::NoSpace);
    file.write_at(b"12345", 5).unwrap();
    file.write_at(b"54321", 0).unwrap();
    disk.set_capacity(None);
    file.allocate(11).unwrap();
}

#[test]
fn rot_changes_what_every_reader_sees() {
    let disk = SimDisk::new();
    put(&disk, "f", b"abc").sync().unwrap();
    assert!(disk.rot("f", |bytes| bytes[1] ^= 1));
    assert!(!disk.rot("gone", |_| ()));
    assert_eq!(disk.cached("f").unwrap(), b"acc");
    disk.plant("d/g", b"x".to_vec());
    disk.power_loss(&mut |_| 0);
    assert_eq!(disk.cached("d/g").unwrap(), b"x");
}

#[test]
fn the_trace_names_every_call() {
    let disk = SimDisk::new();
    disk.start_trace();
    put(&disk, "f", b"abc").sync().unwrap();
    disk.sync_dir("").unwrap();
    let trace: Vec<_> = disk.take_trace().iter().map(|call| call.kind).collect();
    assert_eq!(trace, [CallKind::Create, CallKind::Write, CallKind::Sync, CallKind::SyncDir]);
    assert_eq!(disk.effects(), 4);
}

#[test]
fn equal_seeds_give_equal_choices() {
    let draw = |seed| {
        let mut seeded = Seeded::new(seed);
        (0..8).map(|_| seeded.choose(10)).collect::<Vec<_>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}
