//! What must hold, one file each.

pub(crate) mod acked_writes;
pub(crate) mod applied_once;
pub(crate) mod durable_at_ack;
pub(crate) mod hash_equal;
pub(crate) mod leader_completeness;
pub(crate) mod lease_eventually;
pub(crate) mod lease_not_early;
pub(crate) mod persist_before_send;
pub(crate) mod revision_monotonic;
pub(crate) mod state_order;
pub(crate) mod watch_complete;
pub(crate) mod witness;
