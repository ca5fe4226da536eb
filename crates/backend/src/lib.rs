//! Record segments by revision, small tables, the manifest, space reclaim.
//!
//! The flush thread owns the [`Backend`] and is its only writer; everybody else reads through a
//! [`Reader`], a snapshot that keeps its files alive. Byte tables and the recovery argument are
//! in `docs/disk-format.md`.
//!
//! ```text
//!   FlushJob --> flush --> active segment --(full)--> seal --> sealed segments
//!                             |                                   |
//!                      last job may be cut              rewrite drops garbage
//! ```
//!
//! Invariants:
//! - what one job carries (records, tables, applied index) becomes durable whole or not at all;
//! - sealing, rewriting and dropping are each one rename of the manifest;
//! - no length is used before the checksum over it held, and nothing is served whose own
//!   checksum did not hold.

mod active;
mod backend;
mod config;
mod dead;
mod error;
mod format;
pub mod fuzz;
mod hash;
mod job;
mod manifest;
#[cfg(any(test, feature = "mutants"))]
mod mutant;
mod reader;
mod recover;
mod replay;
mod reserve;
mod rewrite;
mod scan;
mod segment;
mod state;
mod tables;

pub use backend::Backend;
pub use config::Config;
pub use error::{Damage, Error, Result};
pub use job::{Delta, FlushJob, Meta, TableId, Tables};
#[cfg(any(test, feature = "mutants"))]
pub use mutant::Mutant;
pub use reader::{History, Reader};
pub use recover::Recovered;
pub use replay::Cut;
pub use reserve::Reserve;
pub use rewrite::{Pace, Rewritten};
pub use scan::{RecordRef, Scan};

#[cfg(test)]
mod tests;
