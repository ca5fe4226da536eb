//! The inputs that are kept for the fuzz entries, run as a plain test.

use crate::fuzz::{run, run_ranges};
use std::path::Path;

/// Runs an entry over the inputs that are kept for a target.
fn replay(target: &str, entry: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        entry(&std::fs::read(path).unwrap());
    }
}

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
