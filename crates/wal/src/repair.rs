//! What start changes before anything is appended: cuts an incomplete batch and makes what was
//! read durable.

use crate::frame::BLOCK;
use crate::mutant::Mutant;
use crate::recover::{Scan, Torn, differs};
use crate::segment;
use crate::{Cut, Result, WalConfig};
use vfs::{Disk, ErrorKind, File, Open};

/// Bytes of zeros written at once.
const ZERO_BYTES: usize = 1 << 20;

/// Cuts what `scan` found to be incomplete and leaves the last segment such that the device holds
/// what was read, with nothing of this use of the segment after it. `file` is the last segment.
pub(crate) fn repair(
    disk: &dyn Disk,
    dir: &str,
    config: &WalConfig,
    scan: &Scan,
    file: &dyn File,
) -> Result<Option<Cut>> {
    let cut = match &scan.torn {
        None => None,
        Some(torn) => Some(keep(disk, dir, scan, torn)?),
    };
    let trusting = config.is_mutant(Mutant::NoSyncOfStart);
    let rewritten = !scan.from_device && !trusting;
    if rewritten {
        // The page cache may hold what the device does not, and a sync may find it clean: writing
        // the last batch again makes it dirty. Those before it were synced before it was written.
        let from = usize::try_from(scan.last_batch).expect("in memory");
        let to = usize::try_from(scan.end).expect("in memory");
        file.write_at(&scan.bytes[from..to], scan.last_batch)?;
    }
    let leave = config.is_mutant(Mutant::CutLeavesTail);
    // A batch that reached the page cache and not the device must go too.
    let hidden = scan.from_device && differs(file, &scan.bytes, scan.end)?;
    if (cut.is_some() || hidden || rewritten) && !leave {
        zero(file, scan.end, scan.header.size)?;
    }
    file.sync()?;
    Ok(cut)
}

/// Keeps the bytes of an incomplete batch beside the log.
fn keep(disk: &dyn Disk, dir: &str, scan: &Scan, torn: &Torn) -> Result<Cut> {
    let file = segment::path(dir, &segment::name(scan.header.sequence));
    let from = usize::try_from(scan.end).expect("in memory");
    let to = usize::try_from(torn.to).expect("in memory");
    let mut cut = Cut {
        offset: scan.end,
        bytes: torn.to - scan.end,
        reason: torn.reason,
        last: scan.tail.last.index,
        broken: None,
        file,
    };
    let (path, copy) = create_free(disk, &cut)?;
    let kept = copy.write_at(&scan.bytes[from..to], 0).and_then(|()| copy.sync());
    match kept {
        Ok(()) => cut.broken = Some(path),
        // A start must be possible on a full disk; the caller tells that nothing was kept.
        Err(error) if error.kind == ErrorKind::NoSpace => disk.remove(&path)?,
        Err(error) => return Err(error.into()),
    }
    disk.sync_dir(dir)?;
    Ok(cut)
}

/// Creates a file that does not exist yet: a start that was interrupted may have kept more than
/// this one can see.
fn create_free(disk: &dyn Disk, cut: &Cut) -> Result<(String, std::sync::Arc<dyn File>)> {
    let mut number = 0;
    loop {
        let path = format!("{}.{:x}.{number}.broken", cut.file, cut.offset / BLOCK);
        match disk.open(&path, Open::Create) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind == ErrorKind::Exists => number += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes zeros.
pub(crate) fn zero(file: &dyn File, from: u64, to: u64) -> vfs::Result<()> {
    let zeros = vec![0; ZERO_BYTES.min(usize::try_from(to - from).unwrap_or(ZERO_BYTES))];
    let mut at = from;
    while at < to {
        let count = usize::try_from(to - at).unwrap_or(zeros.len()).min(zeros.len());
        file.write_at(&zeros[..count], at)?;
        at += count as u64;
    }
    Ok(())
}
