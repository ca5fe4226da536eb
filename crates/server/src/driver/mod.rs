//! The driver: one loop that owns sockets, member and reads, and the threads it hands work to.
//!
//! ```text
//!  connections ──▶ inbox ──▶ ┌──────┐ ──▶ outboxes ──▶ connections (one wake each)
//!                            │ turn │ ──▶ log thread ──┐
//!  mailbox ────────────────▶ └──────┘ ──▶ flush thread ┼──▶ mailbox (one wake per sync)
//!     ▲                                ──▶ helpers ────┘         │
//!     └──────────────────────────────────────────────────────────┘
//! ```
//!
//! Architecture invariant: nothing here decides about raft or durability. An effect is executed,
//! its completion is posted back.

pub mod calls;
pub mod core;
mod counting;
pub mod fatal;
mod flush_thread;
mod gauges;
mod helper_thread;
pub mod inbox;
pub mod leadership;
mod log_thread;
pub mod mailbox;
mod metered;
pub mod outbox;
mod peers;
pub mod shell;
pub mod slot;
mod space;
pub mod start;
pub mod threads;
mod timing;
pub mod turn;
pub mod watches;

pub use shell::Shell;
