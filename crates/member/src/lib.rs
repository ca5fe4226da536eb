//! Owns node and store: events in, effects out, all bookkeeping of durability and apply.
//!
//! ```text
//!            Event                     Effect
//!   shell ──────────▶ Member::step ──────────▶ shell
//!                     node + store
//! ```
//!
//! A driver (the production shell, the simulator) only executes effects and feeds their
//! completions back as events. No clock, socket, file or random number is reached from here.

//!
//! A driver calls `Member::step` with every event, and `Member::turn` once after the events of one
//! turn of its loop: what arrived together is proposed together, shares one read index and is
//! answered together. It calls `step` with `Event::Tick` when `Member::next_deadline` is reached.

mod apply;
mod compaction;
mod compactor;
mod config;
mod counters;
pub mod effect;
pub mod event;
mod fetch;
mod flush;
mod hashes;
pub mod identity;
mod ids;
mod leases;
mod member;
mod membership;
mod peers;
mod reads;
mod remote;
pub mod request;
mod requests;
mod roles;
#[cfg(test)]
mod tests;
mod waiting;
mod watches;

pub use compactor::AutoCompaction;
pub use config::{Config, Founder, StartError};
pub use counters::Counters;
pub use effect::{Effect, Effects};
pub use event::Event;
pub use member::Member;
pub use node::{Class, MessageType, Mutant, Role, codec::message_type};
pub use request::{Header, Request, RequestId, Response, StreamId, Ticket, WriteKind};
