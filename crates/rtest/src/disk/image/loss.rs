//! What a loss of power leaves of a file.

use super::SECTOR;
use crate::dice::Dice;
use std::collections::BTreeSet;

/// How a loss of power treats what was not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// All of it is gone.
    Drop,
    /// Each sector is kept, gone or torn, by dice.
    Tear,
}

/// What is left of a file.
pub(super) fn lose_file(
    seen: &[u8],
    durable: &[u8],
    dirty: &BTreeSet<usize>,
    loss: Loss,
    dice: &mut Dice,
) -> Vec<u8> {
    let mut kept = durable.to_vec();
    if loss == Loss::Drop {
        return kept;
    }
    if dice.chance(50) {
        // The length reached the disk; bytes that did not are zero.
        kept.resize(seen.len(), 0);
    }
    for sector in dirty {
        let start = sector * SECTOR;
        let end = (start + SECTOR).min(seen.len()).min(kept.len());
        if end <= start {
            continue;
        }
        let taken = match dice.below(5) {
            0 | 1 => end - start,
            2 => usize::try_from(dice.below((end - start) as u64)).unwrap_or(0),
            _ => 0,
        };
        kept[start..start + taken].copy_from_slice(&seen[start..start + taken]);
    }
    kept
}
