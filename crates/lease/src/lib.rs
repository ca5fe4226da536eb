//! Leases: the replicated table and the leader-local deadlines.
//!
//! The [`Table`] is part of the replicated state: ids, granted and checkpointed TTLs, attached
//! keys. It knows no clock. [`Expiry`] lives on the leader only: it gives every lease a deadline
//! in monotonic time, says which leases are due, and is told what was applied. What it wants
//! (a revoke, a checkpoint) goes through the log and comes back as a change of the table.
//!
//! Architecture invariant: nothing here proposes anything or reads a clock.

mod checkpoint;
mod expiry;
mod table;
mod ttl;

pub use expiry::{Config, Expiry, Remaining, Renew};
pub use table::{Lease, Row, RowError, Table};
pub use ttl::{granted_ttl, ttl_min};

#[cfg(test)]
mod tests;
