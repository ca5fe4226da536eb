//! Tests of the backend on the simulated disk.

mod basics;
mod support;
