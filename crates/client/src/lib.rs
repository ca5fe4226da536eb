//! A small gRPC client for etcd-compatible servers.
