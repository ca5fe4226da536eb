//! The write-ahead log: segments, framed records, batches, recovery.

/// What is written and synced as one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {}

mod entry;

pub use entry::{Entry, EntryKind, HardState};
