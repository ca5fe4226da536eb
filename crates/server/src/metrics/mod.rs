//! Metrics under etcd's names (contract §6), in Prometheus' text format.
//!
//! `table` lists every metric; `grpc` holds what is counted per RPC; `process` reads the
//! operating system's view at each scrape, `runtime` the names of Go's runtime.

mod grpc;
mod process;
mod runtime;
mod table;

pub use grpc::{CallKind, MethodMetrics};
pub use table::Metrics;

#[cfg(test)]
mod tests;
