//! The replicated state machine: applies log entries to keyspace, leases, watchers, alarms, members.
//!
//! ```text
//!   entry ─▶ decode ─▶ needs? ──cold──▶ (caller fetches, `warm`, again)
//!                        │ none
//!                        ▼
//!   window of ids, fence ─▶ alarms, quota ─▶ checks ─▶ write txn ─▶ leases ─▶ watch::Hub::notify
//!                                                          │
//!                                                          ▼
//!                                        records and table changes of the next FlushJob
//! ```
//!
//! What an entry comes to is decided by the entries before it alone: every member gets the same
//! outcome, error outcomes included. What differs between members is only said beside the
//! outcome (`Applied::over_quota`).
//!
//! Invariants:
//! - an entry is applied whole or not at all, and everything it changes leaves in one flush job;
//! - apply waits for nothing: records that are not in memory are named by `needs` beforehand;
//! - what is flushed is the state after some entry, never a state within one.

mod admin;
mod alarm;
mod apply;
mod catch_up;
mod chain;
mod cluster;
mod conf;
mod counters;
mod entry;
mod error;
mod flush;
pub mod fuzz;
mod needs;
mod outcome;
mod quota;
mod read;
mod restore;
mod store;
mod table;
mod txn;
mod window;
mod write;

pub use alarm::AlarmKind;
pub use catch_up::CatchUp;
pub use cluster::MemberRow;
pub use counters::Counters;
pub use entry::Entry;
pub use error::Error;
pub use flush::Pending;
pub use outcome::{Applied, ConfOutcome, LeaseFact, Outcome};
pub use quota::{put_cost, txn_cost};
pub use store::{Config, Figures, Store};
pub use table::tables;

#[cfg(test)]
mod tests;
