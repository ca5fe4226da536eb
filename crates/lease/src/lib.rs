//! Leases: the replicated table and the leader-local deadlines.
