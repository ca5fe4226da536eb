//! The replicated state machine: applies log entries to keyspace, leases, watchers, alarms, members.
