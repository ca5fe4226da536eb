//! Unit tests of leases.
