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

pub mod effect;
pub mod event;
pub mod request;

pub use effect::{Effect, Effects};
pub use event::Event;
pub use request::{Header, Request, RequestId, Response, StreamId, Ticket, WriteKind};
