//! Slots with the main revisions at which something happened to them, in order of these: a few
//! bytes each, for there is one for every change since the last compaction.

use crate::kv::{put_varint, take_varint};
use std::collections::VecDeque;

/// Bytes of a chunk.
const CHUNK: usize = 4096;
/// Two numbers at their longest.
const ENTRY_MAX: usize = 15;

/// See the module.
#[derive(Default, Debug)]
pub(crate) struct SlotQueue {
    /// Per slot: by how much its main revision is above that of the one before, and the slot.
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are taken already.
    taken: usize,
    /// Main revision of the last one taken.
    first: i64,
    /// Main revision of the last one added.
    last: i64,
}

impl SlotQueue {
    /// Adds a slot; `main` is no lower than that of the one before.
    pub(crate) fn push(&mut self, main: i64, slot: u32) {
        let chunk = match self.chunks.back_mut() {
            Some(chunk) if chunk.len() + ENTRY_MAX <= CHUNK => chunk,
            _ => self.chunks.push_back_mut(Vec::with_capacity(CHUNK)),
        };
        put_varint(chunk, (main - self.last).cast_unsigned());
        put_varint(chunk, u64::from(slot));
        self.last = main;
    }

    /// Main revision of the first one.
    pub(crate) fn front(&self) -> Option<i64> {
        self.peek().map(|(main, ..)| main)
    }

    /// Takes the first one if its main revision is no higher than this.
    pub(crate) fn pop_upto(&mut self, main: i64) -> Option<u32> {
        let (first, slot, end) = self.peek().filter(|(first, ..)| *first <= main)?;
        (self.first, self.taken) = (first, end);
        if self.chunks.front().is_some_and(|chunk| end == chunk.len()) {
            self.chunks.pop_front();
            self.taken = 0;
        }
        Some(slot)
    }

    /// The first one, and where its bytes end.
    fn peek(&self) -> Option<(i64, u32, usize)> {
        let chunk = self.chunks.front()?;
        let mut at = self.taken;
        let above = take_varint(chunk, &mut at).ok()?;
        let slot = take_varint(chunk, &mut at).ok()?;
        let slot = u32::try_from(slot).expect("it was a slot when it was written");
        Some((self.first + above.cast_signed(), slot, at))
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK + self.chunks.capacity() * size_of::<Vec<u8>>()
    }
}

#[cfg(test)]
mod tests {
    use super::SlotQueue;

    #[test]
    fn slots_come_back_in_order_with_their_revisions() {
        let mut queue = SlotQueue::default();
        let entry = |number: u32| (i64::from(number) * 3 / 2, number * 7919 % 1_000_003);
        let (mut pushed, mut popped) = (0, 0);
        for round in 0..20 {
            for _ in 0..2000 + round {
                let (main, slot) = entry(pushed);
                queue.push(main, slot);
                pushed += 1;
            }
            while popped + 500 < pushed {
                let (main, slot) = entry(popped);
                assert_eq!(queue.front(), Some(main), "front at {popped}");
                assert_eq!(queue.pop_upto(main - 1), None, "{main} is above {}", main - 1);
                assert_eq!(queue.pop_upto(main), Some(slot), "slot at {popped}");
                popped += 1;
            }
        }
        while queue.pop_upto(i64::MAX).is_some() {
            popped += 1;
        }
        assert_eq!((popped, queue.front()), (pushed, None), "all are taken");
        queue.push(1_000_000, 5);
        assert_eq!(queue.pop_upto(1_000_000), Some(5), "an empty queue goes on");
        assert!(queue.memory_bytes() < 4096, "what was taken takes no memory");
    }
}
