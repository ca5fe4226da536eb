//! Unit tests of leases.

mod cases;
mod property;
mod scripts;
