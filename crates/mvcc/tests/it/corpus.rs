//! The inputs that are kept for the fuzz entries, run as a plain test.

use crate::fuzz::{run, run_ranges};
use script::corpus::replay;

#[test]
fn the_corpus_of_step_sequences_agrees_with_the_reference() {
    replay("mvcc_steps", run);
}

#[test]
fn the_corpus_of_ranges_agrees_with_the_reference() {
    replay("mvcc_ranges", run_ranges);
}

#[test]
fn the_shortest_inputs_run_too() {
    for entry in [run, run_ranges] {
        entry(&[]);
        entry(&[0; 7]);
        entry(&[0; 8]);
    }
}
