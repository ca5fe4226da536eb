//! The simulator: one thread, one seed; simulated disk and clock, faults, invariants.
//!
//! ```text
//!   World: queue of (time, action)
//!     │ pops the earliest, one at a time
//!     ├─▶ Process: wal + backend + member, as the production driver has them
//!     │     effects ──▶ actions at later times (disk, flush and helper threads, replies)
//!     ├─▶ Clients, watchers: random requests, one outstanding each
//!     ├─▶ Faults: kill, power loss, disk errors, full disk, slow syncs, rot
//!     └─▶ Oracle: the log replayed on `model`; invariants compare what clients saw with it
//! ```
//!
//! It is the second driver: `member`, `wal` and `backend` are the code of production, and nothing
//! here decides anything about raft or durability. A run is a function of its seed alone: the
//! trace hash of two runs is equal (SIM-2).

mod client;
mod compare;
mod execute;
mod fault;
mod invariant;
mod life;
mod mutant;
mod oracle;
mod process;
mod report;
mod rng;
mod swarm;
mod talk;
#[cfg(test)]
mod tests;
mod trace;
mod watcher;
mod workload;
mod world;

pub use mutant::Mutant;
pub use report::{Counts, Report, Violation};
pub use world::{Options, run};
