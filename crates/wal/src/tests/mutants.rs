//! Each planted bug is found by the checks of this crate.

use super::crash::{crash, fault};
use super::matrix::{Fixture, sectors};
use crate::Mutant;
use vfs::sim::Fault;

/// The first thing that a check says about a bug, within a bounded search.
fn found(mutant: Mutant) -> Option<String> {
    let planted = Some(mutant);
    for count in 0..120 {
        for device_reads in [true, false] {
            if let Err(text) = crash(count, device_reads, planted, (64, 20)) {
                return Some(text);
            }
        }
    }
    for nth in 0..120 {
        if let Err(text) = fault(nth, Fault::Io, true, planted) {
            return Some(text);
        }
    }
    sectors(&Fixture::new(planted)).err()
}

#[test]
fn every_planted_bug_is_found() {
    for mutant in Mutant::ALL {
        let text = found(mutant);
        assert!(text.is_some(), "{mutant:?} was not found");
    }
}
