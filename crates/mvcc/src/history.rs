//! The versions of one key before its newest, in a few bytes each: a key that is written all the
//! time keeps thousands of them until somebody compacts.
//!
//! A version is stored as what sets it apart from the version after it. So the chain begins at
//! the newest version, which the entry holds, and is read backwards: the last bytes are those of
//! the youngest version. Every [`BLOCK`] versions a chain begins anew from a version held whole.
//!
//! ```text
//!   blocks:  [oldest … ] after, [ … ] after      tail:  [ … youngest] ◄── newest, in the entry
//! ```

use crate::slab::Version;
use std::collections::VecDeque;

/// Versions in a block: what finding one walks at most.
const BLOCK: u32 = 64;

/// The version's sub revision is not 0.
const SUB: u8 = 1;
/// Its record has another length.
const LEN: u8 = 2;
/// It has another lease.
const LEASE: u8 = 4;
/// It is not the version that was followed by a put: creation and number are written out.
const GENERATION: u8 = 8;

/// A full chain with the version that it hangs on.
#[derive(Debug)]
struct Block {
    /// The version after the block's youngest.
    after: Version,
    count: u32,
    bytes: Box<[u8]>,
}

/// See the module. Invariant: `tail` is not empty if there is any version.
#[derive(Default, Debug)]
pub(crate) struct Past {
    tail: Vec<u8>,
    /// Versions in `tail`.
    count: u32,
    /// Oldest first; most keys have none.
    #[expect(clippy::box_collection, reason = "most keys have no blocks: one word here")]
    blocks: Option<Box<VecDeque<Block>>>,
}

impl Past {
    /// Adds the version that `after` replaces as the newest one.
    pub(crate) fn push(&mut self, before: &Version, after: &Version) {
        if self.count == BLOCK {
            let bytes = std::mem::take(&mut self.tail).into_boxed_slice();
            let count = std::mem::take(&mut self.count);
            self.blocks.get_or_insert_default().push_back(Block { after: *before, count, bytes });
        }
        encode(&mut self.tail, before, after);
        self.count += 1;
    }

    /// The youngest version with `main <= at`.
    pub(crate) fn version_at(&self, newest: &Version, at: i64) -> Option<Version> {
        let mut tail = Chain { bytes: &self.tail, after: *newest };
        tail.find(|version| version.main <= at).or_else(|| {
            let blocks = self.blocks.as_ref()?;
            let block = blocks.get(blocks.partition_point(|block| block.after.main <= at))?;
            block.chain().find(|version| version.main <= at)
        })
    }

    /// The versions with `main <= at`, oldest first.
    pub(crate) fn upto(&self, newest: &Version, at: i64) -> Vec<Version> {
        let mut found = Vec::new();
        for block in self.blocks.iter().flat_map(|blocks| blocks.iter()) {
            let from = found.len();
            found.extend(block.chain().filter(|version| version.main <= at));
            found[from..].reverse();
            if at < block.after.main {
                return found;
            }
        }
        let from = found.len();
        let tail = Chain { bytes: &self.tail, after: *newest };
        found.extend(tail.filter(|version| version.main <= at));
        found[from..].reverse();
        found
    }

    /// Drops the oldest versions; true if none is left.
    pub(crate) fn drop_oldest(&mut self, newest: &Version, mut count: u32) -> bool {
        while 0 < count
            && let Some(blocks) = &mut self.blocks
            && let Some(first) = blocks.front_mut()
        {
            if count < first.count {
                let start = first.chain().start_of(first.count - count);
                first.bytes = first.bytes[start..].into();
                first.count -= count;
                return false;
            }
            count -= first.count;
            blocks.pop_front();
            if blocks.is_empty() {
                self.blocks = None;
            } else if blocks.len() < blocks.capacity() / 4 {
                blocks.shrink_to(2 * blocks.len());
            }
        }
        let left = self.count - count;
        let start = Chain { bytes: &self.tail, after: *newest }.start_of(left);
        self.tail.drain(..start);
        self.tail.shrink_to(2 * self.tail.len());
        self.count = left;
        left == 0
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        let blocks = self.blocks.as_ref().map_or(0, |blocks| {
            let bytes: usize = blocks.iter().map(|block| block.bytes.len()).sum();
            size_of::<VecDeque<Block>>() + blocks.capacity() * size_of::<Block>() + bytes
        });
        self.tail.capacity() + blocks
    }
}

impl Block {
    fn chain(&self) -> Chain<'_> {
        Chain { bytes: &self.bytes, after: self.after }
    }
}

/// Reads versions from the youngest to the oldest.
struct Chain<'a> {
    bytes: &'a [u8],
    after: Version,
}

impl Chain<'_> {
    /// Where the bytes of the `count` youngest versions begin.
    fn start_of(mut self, count: u32) -> usize {
        for _ in 0..count {
            self.next();
        }
        self.bytes.len()
    }

    fn byte(&mut self) -> u8 {
        let (last, rest) = self.bytes.split_last().expect("a version is written whole");
        self.bytes = rest;
        *last
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }

    fn signed(&mut self) -> i64 {
        self.number().cast_signed()
    }

    fn short(&mut self) -> u32 {
        u32::try_from(self.number()).expect("it was a short number when it was written")
    }
}

impl Iterator for Chain<'_> {
    type Item = Version;

    fn next(&mut self) -> Option<Version> {
        if self.bytes.is_empty() {
            return None;
        }
        let after = self.after;
        let flags = self.byte();
        let mut version = Version {
            main: after.main - self.signed(),
            create: after.create,
            version: after.version - 1,
            lease: after.lease,
            sub: 0,
            len: after.len,
        };
        if flags & SUB != 0 {
            version.sub = self.short();
        }
        if flags & LEN != 0 {
            version.len = self.short();
        }
        if flags & LEASE != 0 {
            version.lease = self.signed();
        }
        if flags & GENERATION != 0 {
            // Relative: a key's creation is never far from its versions, as numbers go.
            version.create = version.main - self.signed();
            version.version = self.signed();
        }
        self.after = version;
        Some(version)
    }
}

/// Appends what sets `before` apart from `after`, its last byte the first to be read.
fn encode(out: &mut Vec<u8>, before: &Version, after: &Version) {
    let mut flags = 0;
    if before.create != after.create || before.version + 1 != after.version {
        flags |= GENERATION;
        put(out, before.version.cast_unsigned());
        put(out, (before.main - before.create).cast_unsigned());
    }
    if before.lease != after.lease {
        flags |= LEASE;
        put(out, before.lease.cast_unsigned());
    }
    if before.len != after.len {
        flags |= LEN;
        put(out, u64::from(before.len));
    }
    if before.sub != 0 {
        flags |= SUB;
        put(out, u64::from(before.sub));
    }
    put(out, (after.main - before.main).cast_unsigned());
    out.push(flags);
}

/// Appends a number of seven bits a byte, the lowest last.
fn put(out: &mut Vec<u8>, number: u64) {
    let bits = 64 - (number | 1).leading_zeros();
    for part in (0..bits.div_ceil(7)).rev() {
        let low = (number >> (7 * part)).to_le_bytes()[0] & 0x7f;
        let more = if part + 1 < bits.div_ceil(7) { 0x80 } else { 0 };
        out.push(low | more);
    }
}

#[cfg(test)]
mod tests;
