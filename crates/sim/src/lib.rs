//! The simulator: one thread, one seed; simulated disk and clock, faults, invariants.
//!
//! ```text
//!   World: queue of (time, action)
//!     │ pops the earliest, one at a time
//!     ├─▶ Hosts, one to five: a disk, and a process of wal + backend + member, as the
//!     │     production driver has them; effects ──▶ actions at later times (disk, flush and
//!     │     helper threads, replies, messages)
//!     ├─▶ Clients, watchers: random requests, one outstanding each
//!     ├─▶ Network: messages late, lost, doubled; links cut, one way too, or clogged
//!     ├─▶ Faults: kill, pause, power loss, disk errors, full disk, slow syncs, rot, partitions
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
mod host;
mod invariant;
mod life;
mod mutant;
mod network;
mod oracle;
mod process;
mod record;
mod report;
mod rng;
mod state;
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
