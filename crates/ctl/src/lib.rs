//! The command-line client, compatible with etcdctl.
