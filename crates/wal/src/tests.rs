//! Tests of the log as a whole, over the simulated disk.

mod basic;
mod fixture;
