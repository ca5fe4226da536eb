//! The shell: sockets, gRPC and HTTP services, configuration, the driver of the event loop.

pub mod announce;
pub mod bootstrap;
pub mod config;
pub mod driver;
pub mod fuzz;
pub mod grpc;
pub mod http;
pub mod log;
pub mod metrics;
mod notify;
pub mod peer;
pub mod serve;
pub mod version;
