//! The watch hub: synced, unsynced and victim watchers.

/// A watcher to be.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Create {}
