//! Unit tests of the hub.

mod cases;
mod property;
mod rig;
