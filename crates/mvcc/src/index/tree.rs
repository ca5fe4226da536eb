//! A B+ tree from keys to slots that knows how many live keys each subtree holds.
//!
//! Nodes lie in two arenas and name each other by number, with a link to the parent, so that
//! marking a key live or dead walks up a few nodes and compares no key. A node that becomes empty
//! is unlinked; leaves that became small are joined with their neighbour.

use super::keys::Keys;

/// Most keys in a leaf and most children of an inner node.
pub(super) const FANOUT: usize = 64;
/// No node.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Default, Debug)]
pub(super) struct Leaf {
    pub(super) keys: Keys,
    pub(super) slots: Vec<u32>,
    pub(super) live: u32,
    pub(super) parent: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
}

#[derive(Default, Debug)]
pub(super) struct Inner {
    /// Child `i + 1` holds the keys at or above separator `i`.
    pub(super) separators: Keys,
    pub(super) children: Vec<u32>,
    pub(super) live: Vec<u32>,
    pub(super) parent: u32,
}

/// A place in the tree: valid until the next insert or remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pos {
    pub(super) leaf: u32,
    pub(super) at: u32,
}

impl Pos {
    pub(crate) fn shares_leaf(self, other: Pos) -> bool {
        self.leaf == other.leaf
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) leaves: Vec<Leaf>,
    pub(super) inners: Vec<Inner>,
    pub(super) leaves_free: Vec<u32>,
    pub(super) inners_free: Vec<u32>,
    pub(super) root: u32,
    /// Levels of inner nodes above the leaves.
    pub(super) height: usize,
    pub(super) len: usize,
    pub(super) live: usize,
}

pub(super) fn number(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 nodes fit in memory")
}

impl Tree {
    pub(crate) fn new() -> Tree {
        let leaf = Leaf { parent: NONE, prev: NONE, next: NONE, ..Leaf::default() };
        Tree {
            leaves: vec![leaf],
            inners: Vec::new(),
            leaves_free: Vec::new(),
            inners_free: Vec::new(),
            root: 0,
            height: 0,
            len: 0,
            live: 0,
        }
    }

    /// Keys in the tree, dead ones too.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Live keys in the tree.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn leaf(&self, id: u32) -> &Leaf {
        &self.leaves[id as usize]
    }

    pub(super) fn inner(&self, id: u32) -> &Inner {
        &self.inners[id as usize]
    }

    /// The leaf that holds the key or would, and the live keys in all leaves before it.
    fn descend(&self, key: &[u8]) -> (u32, usize) {
        let (mut node, mut before) = (self.root, 0);
        for _ in 0..self.height {
            let inner = self.inner(node);
            let child = match inner.separators.search(key) {
                Ok(at) => at + 1,
                Err(at) => at,
            };
            before += inner.live[..child].iter().map(|live| *live as usize).sum::<usize>();
            node = inner.children[child];
        }
        (node, before)
    }

    /// Where the key is.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Pos> {
        let (leaf, _) = self.descend(key);
        let at = self.leaf(leaf).keys.search(key).ok()?;
        Some(Pos { leaf, at: number(at) })
    }

    /// As [`Tree::find`], looking first behind the place of the key that is probably the one before.
    pub(crate) fn find_after(&self, before: Option<Pos>, key: &[u8]) -> Option<Pos> {
        let next = before.and_then(|pos| self.next(pos));
        next.filter(|pos| self.leaf(pos.leaf).keys.is_at(pos.at as usize, key))
            .or_else(|| self.find(key))
    }

    /// Where the key is, or where [`Tree::insert`] is to put it.
    pub(crate) fn locate(&self, key: &[u8]) -> Result<Pos, Pos> {
        let (leaf, _) = self.descend(key);
        let found = self.leaf(leaf).keys.search(key);
        let pos = |at| Pos { leaf, at: number(at) };
        found.map(pos).map_err(pos)
    }

    /// Where the first key at or above `key` is.
    pub(crate) fn seek(&self, key: &[u8]) -> Option<Pos> {
        let (leaf, _) = self.descend(key);
        let (Ok(at) | Err(at)) = self.leaf(leaf).keys.search(key);
        self.normal(leaf, at)
    }

    fn normal(&self, leaf: u32, at: usize) -> Option<Pos> {
        let node = self.leaf(leaf);
        if at < node.slots.len() {
            return Some(Pos { leaf, at: number(at) });
        }
        // Only the one leaf of an empty tree is empty.
        if node.next == NONE { None } else { Some(Pos { leaf: node.next, at: 0 }) }
    }

    /// The place after this one.
    pub(crate) fn next(&self, pos: Pos) -> Option<Pos> {
        self.normal(pos.leaf, pos.at as usize + 1)
    }

    /// The first place of the next leaf.
    pub(crate) fn next_leaf(&self, pos: Pos) -> Option<Pos> {
        self.normal(pos.leaf, self.leaf(pos.leaf).slots.len())
    }

    /// The first place of the leaf that holds the live key with this rank, if that is another
    /// leaf than the one of `pos`.
    pub(crate) fn skip_to_rank(&self, pos: Pos, rank: usize) -> Option<Pos> {
        let (mut node, mut rank) = (self.root, rank);
        for _ in 0..self.height {
            let inner = self.inner(node);
            let mut child = 0;
            while inner.live[child] as usize <= rank {
                rank -= inner.live[child] as usize;
                child += 1;
                if child == inner.children.len() {
                    return None;
                }
            }
            node = inner.children[child];
        }
        if node == pos.leaf { None } else { Some(Pos { leaf: node, at: 0 }) }
    }

    /// True if no key in the leaf of this place is live.
    pub(crate) fn is_dead_leaf(&self, pos: Pos) -> bool {
        self.leaf(pos.leaf).live == 0
    }

    /// The slot at a place.
    pub(crate) fn slot(&self, pos: Pos) -> u32 {
        self.leaf(pos.leaf).slots[pos.at as usize]
    }

    /// The key at a place, in two parts.
    pub(crate) fn key(&self, pos: Pos) -> (&[u8], &[u8]) {
        self.leaf(pos.leaf).keys.parts(pos.at as usize)
    }

    /// Live keys below `key`; `is_live` tells by slot.
    pub(crate) fn rank(&self, key: &[u8], is_live: impl Fn(u32) -> bool) -> usize {
        let (leaf, before) = self.descend(key);
        let node = self.leaf(leaf);
        let (Ok(at) | Err(at)) = node.keys.search(key);
        if node.live as usize == node.slots.len() {
            return before + at;
        }
        before + node.slots[..at].iter().filter(|slot| is_live(**slot)).count()
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        let leaves: usize = self
            .leaves
            .iter()
            .map(|leaf| size_of::<Leaf>() + leaf.keys.memory_bytes() + leaf.slots.capacity() * 4)
            .sum();
        let inners: usize = self
            .inners
            .iter()
            .map(|inner| {
                size_of::<Inner>()
                    + inner.separators.memory_bytes()
                    + (inner.children.capacity() + inner.live.capacity()) * 4
            })
            .sum();
        leaves + inners
    }

    /// Counts the key at a place as live (`true`) or dead from here on.
    pub(crate) fn set_live(&mut self, pos: Pos, live: bool) {
        if live {
            self.mark(pos.leaf, |count| *count += 1);
            self.live += 1;
        } else {
            self.set_dead(pos, 1);
        }
    }

    /// Counts so many live keys of the leaf of a place as dead from here on.
    pub(crate) fn set_dead(&mut self, pos: Pos, keys: usize) {
        let dead = number(keys);
        self.mark(pos.leaf, |count| *count -= dead);
        self.live -= keys;
    }

    fn mark(&mut self, leaf: u32, change: impl Fn(&mut u32)) {
        change(&mut self.leaves[leaf as usize].live);
        let (mut child, mut parent) = (leaf, self.leaf(leaf).parent);
        while parent != NONE {
            let inner = &mut self.inners[parent as usize];
            let at = index_of(&inner.children, child);
            change(&mut inner.live[at]);
            (child, parent) = (parent, inner.parent);
        }
    }
}

pub(super) fn index_of(children: &[u32], child: u32) -> usize {
    children.iter().position(|id| *id == child).expect("a child is listed in its parent")
}
