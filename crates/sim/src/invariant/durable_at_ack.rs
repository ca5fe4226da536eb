//! Durability at the ack (INV-10): when an answer leaves, every entry up to the applied index is
//! in a synced batch here and on a majority, and now and then an image of the disk proves it.

use crate::host::Host;
use crate::report::Violation;
use std::sync::Arc;
use types::Term;
use vfs::sim::SimDisk;

/// What is applied anywhere must be synced on a majority; but the entries that a cluster of several
/// members is founded with are everybody's before anything is said.
pub(crate) fn check_majority(hosts: &[Host], index: usize, term: Term) -> Result<(), Violation> {
    if 1 < hosts.len() && index <= hosts.len() {
        return Ok(());
    }
    let count = hosts.iter().filter(|host| host.record.holds(index, term)).count();
    if count <= hosts.len() / 2 {
        let of = hosts.len();
        let text = format!("entry {index} is applied, but only {count} of {of} have it synced");
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
