//! One raft node: proposals, read index, ticks, what must be durable before what may be sent.
//!
//! ```text
//!   propose, tick, read_index, step          persisted(number), applied(index)
//!                 │                                     │
//!                 ▼                                     ▼
//!        ┌──────────────── Node ─────────────────────────────┐
//!        │ raft::RawNode + Log (entries in memory)           │
//!        └──────┬────────────────────────┬───────────────────┘
//!               ▼                        ▼
//!   ready(): messages that may      take_persist(): what to write next, one at a time
//!   leave, committed entries,
//!   confirmed reads
//! ```
//!
//! The node knows bytes: neither what an entry means nor how it reaches the disk. It reads no
//! clock and draws no random number: election timeouts follow from a hash of seed, member, term
//! and attempt.
//!
//! Invariants:
//! - nothing that depends on a batch is reported to raft before `persisted` named that batch;
//! - one batch is being written at a time; what became ready meanwhile is one batch after it;
//! - only entries that are committed **and** durable here are handed out to apply.

mod check;
pub mod codec;
mod config;
mod convert;
mod log;
pub mod mutant;
mod node;
mod ready;
#[cfg(test)]
mod tests;

pub use check::StepError;
pub use codec::Class;
pub use config::{Config, Start, StartError};
pub use mutant::Mutant;
pub use node::{Dropped, Node, Role, Standing, Status};
pub use raft::eraftpb::{Message, MessageType};
pub use ready::{Persist, ReadConfirmed, ReadContext, Ready};
