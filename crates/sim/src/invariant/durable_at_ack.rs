//! Durability at the ack (INV-10): when an answer leaves, every entry up to the applied index is
//! in a synced batch, and now and then an image of the disk proves it.

use crate::report::Violation;
use std::sync::Arc;
use vfs::sim::SimDisk;

/// What is applied must be synced.
pub(crate) fn check(applied: u64, synced: u64) -> Result<(), Violation> {
    if synced < applied {
        let text = format!("entry {applied} is applied, but only {synced} is synced");
        return Err(Violation::new("durable_at_ack", text));
    }
    Ok(())
}

/// A copy of the disk loses its power and is opened: the log must reach to the applied index.
pub(crate) fn check_image(
    disk: &SimDisk,
    applied: u64,
    config: wal::WalConfig,
) -> Result<(), Violation> {
    let image = disk.snapshot();
    image.set_capacity(None);
    image.power_loss(&mut |_| 0);
    let violation = |text: String| Violation::new("durable_at_ack", text);
    let opened = wal::Wal::open(Arc::new(image), "wal", config, None);
    let (_, log) = opened.map_err(|error| violation(format!("the image: {error}")))?;
    let last = log.last().index.0;
    if last < applied {
        let text = format!("entry {applied} is applied, the durable log ends at {last}");
        return Err(violation(text));
    }
    Ok(())
}
