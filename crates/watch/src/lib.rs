//! The watch hub: who is told of which change, in which order, and what happens to the slow.
//!
//! ```text
//!   notify ──▶ synced watchers ──▶ outbox of the stream ──▶ drain (as the client has room)
//!                  │ no room            ▲
//!                  ▼                    │ feed (history, in bounded chunks)
//!               parked ── room ──▶ behind watchers
//! ```
//!
//! * A **synced** watcher has been given everything up to the current revision; each new revision
//!   reaches it inside `Hub::notify`, from one encoding that all watchers share.
//! * A watcher **behind** (etcd: unsynced) waits for history. `Hub::next_span` names the revisions
//!   wanted most, the caller brings them to `Hub::feed`, and every watcher within that span takes
//!   its part of it.
//! * A **parked** watcher (etcd: victim) is behind and its stream has no room; it joins the ones
//!   behind once the client has taken half of what is queued.
//!
//! Architecture invariant: nothing here knows connections, messages' wire headers, or storage; the
//! events are bytes that the caller encoded as records, framed here as field 11 of `WatchResponse`.

mod catch_up;
mod change;
mod create;
pub mod fuzz;
mod group;
mod hub;
mod index;
mod message;
mod progress;
mod slab;
mod stream;

pub use change::Change;
pub use create::{Create, reason};
pub use hub::{Config, Gauges, Hub, Span, StreamId};
pub use message::{Body, Events, Message};

#[cfg(test)]
mod tests;
