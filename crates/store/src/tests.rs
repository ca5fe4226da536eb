//! Unit tests of the store: entries in, outcomes, events and flush jobs out.

mod apply;
mod cases;
mod convert;
mod corpus;
mod property;
mod rig;
mod scripts;
mod sliced;
