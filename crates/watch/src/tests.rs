//! Unit tests of the hub.

mod cases;
mod corpus;
mod property;
mod rig;
mod scripts;
mod sliced;
mod streams;
