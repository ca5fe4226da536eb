//! Unit tests of leases.

mod cases;
mod property;
mod scripts;

/// The lease that holds a key; 0 if none does.
fn lease_of(table: &crate::Table, key: &str) -> types::LeaseId {
    let holds = |lease: &crate::Lease| lease.keys().any(|held| held.as_ref() == key.as_bytes());
    table.iter().find(|(_, lease)| holds(lease)).map_or_else(Default::default, |(id, _)| id)
}
