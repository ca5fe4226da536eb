//! Which records of a segment are garbage.

use types::Revision;

/// A sorted set of revisions, eight bytes each: the distance from the segment's first main
/// revision, and the sub revision.
#[derive(Clone, Default, Debug)]
pub(crate) struct DeadSet {
    packed: Vec<u64>,
}

/// Most main revisions that one segment may span, so that a distance fits.
pub(crate) const SPAN_MAIN_MAX: i64 = u32::MAX as i64;

fn pack(first: Revision, revision: Revision) -> Option<u64> {
    let main = u32::try_from(revision.main.checked_sub(first.main)?).ok()?;
    let sub = u32::try_from(revision.sub).ok()?;
    Some(u64::from(main) << 32 | u64::from(sub))
}

impl DeadSet {
    /// Adds revisions of the segment that begins with `first`; others are ignored.
    pub(crate) fn extend(&mut self, first: Revision, revisions: &[Revision]) {
        let sorted = self.packed.len();
        self.packed.extend(revisions.iter().filter_map(|revision| pack(first, *revision)));
        if self.packed.len() > sorted {
            self.packed.sort();
            self.packed.dedup();
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.packed.len()).expect("a length fits 64 bits")
    }

    /// True if the record is garbage. `cursor` makes a walk in order linear: start with 0.
    pub(crate) fn contains(&self, first: Revision, revision: Revision, cursor: &mut usize) -> bool {
        let Some(wanted) = pack(first, revision) else { return false };
        while self.packed.get(*cursor).is_some_and(|dead| *dead < wanted) {
            *cursor += 1;
        }
        self.packed.get(*cursor) == Some(&wanted)
    }
}
