//! What can go wrong, and how it is brought about.

use crate::rng::Rng;
use vfs::sim::{CallKind, Fault, SimDisk};

/// Kinds of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The process is killed between two calls; the page cache stays.
    Kill,
    /// The process is killed at one of the next calls to the disk.
    KillAtCall,
    /// The power goes: what was not synced is dropped, kept or torn.
    PowerLoss,
    /// The power goes at one of the next calls to the disk.
    PowerLossAtCall,
    /// Killed, started again, and then the power goes: what the start read from the page cache
    /// was not durable.
    KillThenPowerLoss,
    /// A sync fails, which ends the process; its pages look clean and are lost with the power.
    SyncFails,
    /// A write fails, whole or after its first half.
    WriteFails,
    /// The disk is full for a while.
    DiskFull,
    /// Syncs take long for a while.
    SlowSync,
    /// The process is asked to stop.
    Stop,
    /// While the process is down a sealed file rots: the start must refuse, or lose nothing.
    Rot,
    /// While the process is down a sealed file vanishes: the start must refuse.
    LostFile,
    /// The process stands still for a while, and then goes on as if nothing had been.
    Pause,
    /// One member, often the leader, is cut off.
    Isolate,
    /// The members fall into two groups that do not hear each other.
    Partition,
    /// One member is not heard any more, or hears nobody.
    OneWay,
    /// Messages on some links wait for a while.
    Clog,
    /// All processes are killed, or all lose their power.
    KillAll,
}

impl Kind {
    /// True if there must be others for it.
    pub(crate) fn needs_others(self) -> bool {
        matches!(self, Kind::Isolate | Kind::Partition | Kind::OneWay | Kind::Clog | Kind::KillAll)
    }

    pub(crate) const ALL: [Kind; 18] = [
        Kind::Kill,
        Kind::KillAtCall,
        Kind::PowerLoss,
        Kind::PowerLossAtCall,
        Kind::KillThenPowerLoss,
        Kind::SyncFails,
        Kind::WriteFails,
        Kind::DiskFull,
        Kind::SlowSync,
        Kind::Stop,
        Kind::Rot,
        Kind::LostFile,
        Kind::Pause,
        Kind::Isolate,
        Kind::Partition,
        Kind::OneWay,
        Kind::Clog,
        Kind::KillAll,
    ];
}

/// How the process ends next, once a call to the disk was made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The page cache stays.
    Kill,
    /// The page cache goes.
    PowerLoss,
}

/// Arms the disk so that one of the next calls fails.
pub(crate) fn arm(disk: &SimDisk, kind: Kind, rng: &mut Rng) {
    match kind {
        Kind::KillAtCall | Kind::PowerLossAtCall => disk.stop_after(rng.between(0, 40)),
        Kind::SyncFails => disk.fail(Some(CallKind::Sync), rng.between(0, 4), Fault::Io),
        Kind::WriteFails => {
            let fault = rng.pick(&[Fault::Io, Fault::Short]);
            disk.fail(Some(CallKind::Write), rng.between(0, 4), fault);
        }
        _ => {}
    }
}

/// Takes the power away: each piece of unsynced data is dropped, kept or torn by chance.
pub(crate) fn power_loss(disk: &SimDisk, rng: &mut Rng) {
    let drops_all = rng.chance(30);
    disk.power_loss(&mut |options| if drops_all { 0 } else { rng.below(options) });
}

/// A file that was sealed long ago: not the newest of its kind.
pub(crate) fn sealed_file(disk: &SimDisk, rng: &mut Rng) -> Option<String> {
    use vfs::Disk;
    let (dir, end) = rng.pick(&[("wal", ".wal"), ("db", ".rec")]);
    let mut names = disk.list(dir).ok()?;
    names.retain(|name| name.ends_with(end));
    names.sort_unstable();
    names.pop();
    if names.is_empty() {
        return None;
    }
    let at = rng.below(names.len());
    Some(format!("{dir}/{}", names[at]))
}

/// Changes bytes of a sealed file.
pub(crate) fn rot(disk: &SimDisk, path: &str, rng: &mut Rng) {
    let (how, place) = (rng.below(3), rng.next());
    // Frames begin at blocks: their headers are what a reader trusts first.
    let is_header = rng.chance(60);
    disk.rot(path, |bytes| {
        let len = u64::try_from(bytes.len()).expect("a length fits 64 bits");
        let at = usize::try_from(place % len.max(1)).expect("below a length");
        let at = if is_header { at - at % 4096 } else { at };
        match how {
            0 => bytes[at] ^= 1,
            1 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0),
            _ => bytes[at..].iter_mut().take(512).for_each(|byte| *byte = 0),
        }
    });
}

/// Changes a header in the newest segment of the log that ends with a seal: what is rotten lies
/// before a later batch, so it can be told from a crash. False if there is no such place.
pub(crate) fn rot_before_seal(disk: &SimDisk, rng: &mut Rng) -> bool {
    use vfs::Disk;
    const BLOCK: usize = 4096;
    let Ok(mut names) = disk.list("wal") else { return false };
    names.retain(|name| name.ends_with(".wal"));
    let Some(name) = names.pop() else { return false };
    let path = format!("wal/{name}");
    let Some(bytes) = disk.cached(&path) else { return false };
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) / BLOCK;
    if last < 2 {
        return false;
    }
    let at = (1 + rng.below(last - 1)) * BLOCK;
    let how = rng.below(3);
    disk.rot(&path, |bytes| match how {
        0 => bytes[at + 8..at + 12].fill(0),
        1 => bytes[at + rng.below(BLOCK)] ^= 1,
        _ => bytes[at..at + 512].fill(0),
    })
}
