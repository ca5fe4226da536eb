//! Bugs that can be planted at run time (feature `mutants`), to prove that the tests and the
//! simulator find them. Without the feature none can be.

use crate::frame::{Decoded, Salt};
use crate::tail::Tail;
use crate::{Frame, WalConfig};

/// A planted bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Start trusts what it read from the page cache without making it durable.
    NoSyncOfStart,
    /// A frame of length 0 is taken as the end of the log.
    LengthZeroIsEnd,
    /// The readable frames of an incomplete batch are kept.
    PrefixOfBatch,
    /// A cut leaves the rest of the segment as it was.
    CutLeavesTail,
    /// Frames of an earlier use of a segment are accepted.
    StaleFrameAccepted,
    /// A spare is overwritten before its rename is durable.
    SpareBeforeDurable,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 6] = [
        Mutant::NoSyncOfStart,
        Mutant::LengthZeroIsEnd,
        Mutant::PrefixOfBatch,
        Mutant::CutLeavesTail,
        Mutant::StaleFrameAccepted,
        Mutant::SpareBeforeDurable,
    ];
}

impl WalConfig {
    /// True if this bug is planted.
    #[cfg(any(test, feature = "mutants"))]
    pub(crate) fn is_mutant(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// True if this bug is planted: never in this build.
    #[cfg(not(any(test, feature = "mutants")))]
    pub(crate) fn is_mutant(&self, _: Mutant) -> bool {
        false
    }
}

/// What planted bugs make of a place where no whole batch is; `prefix` are the frames that could
/// be read there, up to `offset`.
#[cfg(any(test, feature = "mutants"))]
pub(crate) fn accepted(
    config: &WalConfig,
    tail: &Tail,
    (rest, salt): (&[u8], Salt),
    (prefix, offset): (&mut Vec<Frame>, usize),
) -> Option<Decoded> {
    let chain = tail.chain;
    let decoded = match config.mutant? {
        Mutant::PrefixOfBatch if !prefix.is_empty() => {
            let batch = crate::Batch { frames: std::mem::take(prefix) };
            Decoded { batch, chain, bytes: offset }
        }
        Mutant::StaleFrameAccepted => crate::frame::decode_unchained(rest, salt)?,
        _ => return None,
    };
    tail.after(&decoded.batch).is_ok().then_some(decoded)
}

/// What planted bugs make of a place where no whole batch is: nothing in this build.
#[cfg(not(any(test, feature = "mutants")))]
pub(crate) fn accepted(
    _: &WalConfig,
    _: &Tail,
    _: (&[u8], Salt),
    _: (&mut Vec<Frame>, usize),
) -> Option<Decoded> {
    None
}
