//! Load generator and side-by-side comparison of etcd-compatible servers.
