//! The watch hub: synced, unsynced and victim watchers.
