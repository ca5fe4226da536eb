//! A crash after each effect, and an error at each call (reliability: CM-3 and CM-4).

use super::fixture::*;
use super::story::*;
use crate::*;
use vfs::sim::{CallKind, Fault, SimDisk};

/// Effects of the whole workload.
fn effects() -> u64 {
    let disk = SimDisk::new();
    let run = run(&disk, None);
    assert!(run.error.is_none(), "{:?}", run.error);
    disk.effects()
}

fn disk(device_reads: bool) -> SimDisk {
    let disk = SimDisk::new();
    disk.set_device_reads(device_reads);
    disk
}

/// Crashes after `count` effects: by a kill, and by every legal power loss.
pub(crate) fn crash(
    count: u64,
    device_reads: bool,
    mutant: Option<Mutant>,
    bounds: (usize, u64),
) -> std::result::Result<u64, String> {
    let disk = disk(device_reads);
    disk.stop_after(count);
    let run = run(&disk, mutant);
    let named = |text| format!("after effect {count}: {text}");
    let killed = disk.snapshot();
    restart(&killed, &run, mutant).map_err(|text| named(format!("kill: {text}")))?;
    let cases = power_losses(&disk, bounds, |copy| restart(&copy, &run, mutant));
    Ok(1 + cases.map_err(named)?)
}

/// Outcomes of a loss of power that are all tried, or how many are drawn if there are more.
const BOUNDS: (usize, u64) = (4096, 1000);

/// Crashes after every effect.
fn crashes(device_reads: bool) -> u64 {
    let counts = 0..=effects();
    counts.map(|count| crash(count, device_reads, None, BOUNDS).unwrap()).sum()
}

// One test for each kind of disk: they run side by side.
#[test]
fn a_crash_after_any_effect_loses_nothing_that_was_acknowledged() {
    let cases = crashes(true);
    assert!(10_000 < cases, "{cases} cases");
}

#[test]
fn a_crash_after_any_effect_loses_nothing_on_a_disk_that_cannot_be_read_past_the_cache() {
    let cases = crashes(false);
    assert!(10_000 < cases, "{cases} cases");
}

#[test]
fn a_crash_during_recovery_changes_nothing() {
    let total = effects();
    for count in (total / 2..total).step_by(3) {
        let disk = disk(count % 2 == 0);
        disk.stop_after(count);
        let run = run(&disk, None);
        for seed in 0..4 {
            let mut seeded = vfs::sim::choices::Seeded::new(seed);
            let lost = disk.snapshot();
            lost.power_loss(&mut |n| seeded.choose(n));
            for step in 0..12 {
                let copy = lost.snapshot();
                copy.stop_after(step);
                let stopped = open(&copy, small(None)).is_err();
                let crashed = copy.snapshot();
                crashed.power_loss(&mut |n| seeded.choose(n));
                restart(&crashed, &run, None).unwrap();
                copy.kill();
                restart(&copy, &run, None).unwrap();
                if !stopped {
                    break;
                }
            }
        }
    }
}

/// Lets effect `nth` fail, then restarts after a kill and after a power loss.
pub(crate) fn fault(
    nth: u64,
    fault: Fault,
    device_reads: bool,
    mutant: Option<Mutant>,
) -> std::result::Result<(), String> {
    let disk = disk(device_reads);
    disk.fail(None, nth, fault);
    let run = run(&disk, mutant);
    if disk.faults_left() != 0 {
        return Err(format!("effect {nth} was never reached"));
    }
    if run.error.is_none() && fault != Fault::NoSpace {
        return Err(format!("nobody noticed that effect {nth} failed"));
    }
    let named = |text| format!("{fault:?} at effect {nth}: {text}");
    let lost = disk.snapshot();
    lost.power_loss(&mut |_| 0);
    restart(&lost, &run, mutant).map_err(named)?;
    disk.kill();
    restart(&disk, &run, mutant).map_err(named)
}

#[test]
fn an_error_of_any_call_ends_the_log_and_loses_nothing_that_was_acknowledged() {
    for nth in 0..effects() {
        for kind in [Fault::Io, Fault::NoSpace, Fault::Short] {
            for device_reads in [true, false] {
                fault(nth, kind, device_reads, None).unwrap();
            }
        }
    }
}

#[test]
fn an_error_during_recovery_is_reported_and_the_next_start_succeeds() {
    let total = effects();
    let disk = disk(true);
    disk.stop_after(total - 1);
    let run = run(&disk, None);
    disk.power_loss(&mut |n| 1.min(n - 1));
    let kinds = [
        CallKind::Open,
        CallKind::Read,
        CallKind::List,
        CallKind::Create,
        CallKind::Write,
        CallKind::Sync,
        CallKind::SyncDir,
    ];
    let mut sites = 0;
    for kind in kinds {
        for nth in 0..20 {
            let copy = disk.snapshot();
            copy.fail(Some(kind), nth, Fault::Io);
            let opened = open(&copy, small(None));
            if copy.faults_left() == 0 {
                let error = opened.map(|_| ()).unwrap_err();
                assert!(matches!(error, Error::Vfs(_)), "{kind:?} {nth}: {error}");
                sites += 1;
            }
            copy.kill();
            restart(&copy, &run, None).unwrap();
        }
    }
    assert!(20 < sites, "{sites} call sites");
}

#[test]
fn the_last_batch_may_be_cut_at_every_byte() {
    let whole = SimDisk::new();
    let mut wal = create(&whole, small(None));
    let frames = (1..50).map(|index| Frame::Entry(entry(index, 1, 20))).collect();
    wal.append(&Batch { frames }).unwrap();
    wal.append(&put(50, 2000)).unwrap();
    let name = wal.file_for_tests();
    drop(wal);
    let bytes = whole.cached(&name).unwrap();
    let from = bytes.len() - bytes.iter().rev().position(|&byte| byte != 0).unwrap();
    let from = (from - 1) / 4096 * 4096;
    assert_eq!(crate::frame::u64_at(&bytes[from..], 12), Some(3), "the last batch");
    for len in 0..=4096 {
        let copy = whole.snapshot();
        copy.rot(&name, |bytes| bytes[from + len..].fill(0));
        let (_, recovered) = open(&copy, small(None)).unwrap();
        let last = recovered.last().index.0;
        assert!(last == 49 || last == 50, "cut at {len}: {last} entries");
        assert_eq!(recovered.cut.is_some(), last == 49 && 48 <= len, "cut at {len}");
        if let Some(cut) = recovered.cut {
            assert_eq!((&cut.file, cut.offset), (&name, from as u64));
            let kept = copy.durable(&cut.broken.unwrap()).unwrap();
            let mut expected = bytes[from..from + len].to_vec();
            expected.resize(kept.len(), 0);
            assert_eq!(kept, expected);
        }
    }
}

#[test]
fn a_cut_needs_no_room_on_a_full_disk() {
    let disk = SimDisk::new();
    let mut wal = create(&disk, config(64 << 10));
    wal.append(&put(1, 5000)).unwrap();
    let name = wal.file_for_tests();
    drop(wal);
    disk.rot(&name, |bytes| bytes[4096 * 3..].fill(0));
    let used = disk.cached(&name).unwrap().len() as u64;
    disk.set_capacity(Some(used));
    let (_, recovered) = open(&disk, config(64 << 10)).unwrap();
    let cut = recovered.cut.unwrap();
    assert_eq!((cut.broken, recovered.boot), (None, 2));
}
