//! The multi-version keyspace: every key with the versions that are not compacted.
//!
//! ```text
//!            key ──► index (B+ tree, live keys counted per subtree) ──► slot
//!                                                                        │
//!   slot ──► entry { newest version + its record, or cold } ──► past versions (a few bytes each)
//!                                                                        │
//!   revision ──► recent ring of records (bounded) ··· older ones: backend, read by revision
//! ```
//!
//! It knows revisions and no raft index, and it does no I/O: a record that is not in memory is
//! answered as `Item::Cold`, and whoever needs its bytes to go on asks the `needs_*` functions
//! first and hands the records in with [`Keyspace::warm`].
//!
//! Invariants:
//! - a version is visible at revision `r` if it is the newest of its key with `main <= r` and no
//!   tombstone;
//! - `compacted <= revision`; what compaction at `c` drops is decided by the records and `c`
//!   alone, so every member and every restart drop the same;
//! - a record leaves memory only after it was reported flushed.

mod compact;
mod compare;
mod delete;
mod history;
mod index;
mod keyspace;
pub mod kv;
mod quota;
mod read;
mod recent;
mod resident;
mod restore;
mod slab;
mod slots;
mod write;

pub use compact::Progress;
pub use delete::{Deleted, Prev};
pub use keyspace::{Config, Keyspace, Meta, Stored};
pub use recent::History;
pub use restore::{Restore, Restored};
pub use write::{Change, Changes, WriteTxn};

#[cfg(test)]
mod tests;
