//! Tests of the log as a whole, over the simulated disk.

mod basic;
mod crash;
mod fixture;
mod matrix;
mod mutants;
mod real;
mod story;
