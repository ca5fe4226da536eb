//! The replicated state machine: applies log entries to keyspace, leases, watchers, alarms, members.

pub mod alarm;
pub mod applied;

pub use alarm::AlarmKind;
pub use applied::{Answer, Applied, LeaseFact};
