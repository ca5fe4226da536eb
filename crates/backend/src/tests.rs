//! Tests of the backend on the simulated disk.

mod basics;
mod crash;
mod faults;
mod full;
mod fuzz;
mod hash;
mod matrix;
mod property;
mod support;
mod tables;
