//! Planted bugs, picked at run time: each must be caught by a test, which proves the net.

use crate::Config;

/// One planted bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A listed segment that is not there is left out instead of refused.
    MissingSegmentNotNoticed,
    /// The applied index becomes durable in a step of its own, before the data.
    AppliedOutsideStep,
}

impl Config {
    /// True if the process runs with this bug.
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}
