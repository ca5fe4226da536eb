//! Typed helpers, one file per service.

mod cluster;
mod kv;
mod lease;
mod lock;
mod maintenance;
pub(crate) mod watch;
