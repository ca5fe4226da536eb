//! Metrics under etcd's names (contract §6), in Prometheus' text format.
//!
//! `table` lists every metric; `grpc` holds what is counted per RPC; `process` reads the
//! operating system's view at each scrape. Metrics of Go's runtime do not exist here.

mod grpc;
mod process;
mod table;

pub use grpc::{CallKind, MethodMetrics};
pub use table::Metrics;

#[cfg(test)]
mod tests;
