//! A small gRPC client for etcd-compatible servers, over HTTP/2 in clear text.
//!
//! ```text
//! Client     several endpoints, failover, deadlines; typed helpers in api/
//!   Conn     one HTTP/2 connection; prepared calls for the load generator
//!     Gather socket that gathers what one poll writes into one system call
//! ```
//!
//! It runs on a current-thread runtime. It keeps no state about the keyspace and retries only
//! what the caller marks as repeatable: a write that may have happened is never sent twice.

mod api;
mod client;
mod config;
mod conn;
mod endpoint;
pub mod frame;
mod gather;
mod status;
mod stream;

pub use api::watch::WatchStream;
pub use client::Client;
pub use config::{Call, Config};
pub use conn::{Conn, Prepared};
pub use endpoint::Endpoint;
pub use status::{Code, Status};
pub use stream::{Sender, Streaming};

#[cfg(test)]
mod tests;
