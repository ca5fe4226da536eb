//! The gRPC layer over h2: connections, frames, statuses, and one file per service.
//!
//! ```text
//! socket ─▶ listen ─▶ connection ─▶ service (unary) ─▶ inbox
//!                         │    └──▶ stream_call (streams, programs)
//!                         └◀── outgoing ◀── encode ◀── outbox
//! ```

pub mod connection;
pub mod encode;
pub mod frame;
mod gzip;
pub mod intervals;
pub mod io;
mod keepalive;
pub mod listen;
pub mod metadata;
pub mod method;
pub mod outgoing;
pub mod ping;
pub mod service;
pub mod session;
pub mod slab;
pub mod status;
pub mod stream_call;
pub mod txn;
pub mod validate;

pub mod auth;
pub mod cluster;
pub mod election;
pub mod health;
pub mod kv;
pub mod lease;
pub mod lock;
pub mod maintenance;
pub mod range_stream;
pub mod watch;

#[cfg(test)]
mod tests;
