//! etcd's v3 protobuf messages, and the codec of log entries.
//!
//! `log` takes log entries apart, `wire` reads requests into `types` without copying, `request`
//! does both for what a log entry asks; `code` names the codes of gRPC.
//!
//! `generated/` is written by `cargo xtask codegen` from `proto/*.proto` and checked in.

/// Stored key-value records and change events.
#[path = "generated/mvccpb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod mvccpb;

/// Membership values that travel in log entries.
#[path = "generated/membershippb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod membershippb;

/// The client API.
#[path = "generated/etcdserverpb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod etcdserverpb;

/// The lock service.
#[path = "generated/v3lockpb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod v3lockpb;

/// The election service.
#[path = "generated/v3electionpb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod v3electionpb;

/// The standard gRPC health service.
#[path = "generated/grpc.health.v1.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod healthpb;

/// Log entries, in etcd's encoding.
#[path = "generated/logpb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod logpb;

/// What members say to each other.
#[path = "generated/peerpb.rs"]
#[allow(missing_docs, clippy::all, clippy::allow_attributes, reason = "generated")]
pub mod peerpb;

pub mod code;
pub mod conf;
pub mod log;
pub mod request;
pub mod wire;

#[cfg(test)]
mod tests;
