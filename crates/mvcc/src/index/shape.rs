//! How keys come into the tree and leave it: nodes that are split, joined and unlinked.

use super::keys::Keys;
use super::tree::{FANOUT, Inner, Leaf, NONE, Pos, Tree, index_of, number};

/// Neighbouring leaves are joined if they hold at most this many keys together.
const JOIN_MAX: usize = FANOUT / 2;

/// A child to be linked; leaves are at level 1.
struct Child {
    id: u32,
    live: u32,
    level: usize,
}

impl Tree {
    /// Adds a live key that is not in the tree at the place that was located for it; `is_live`
    /// tells of the others by slot.
    pub(crate) fn insert(
        &mut self,
        place: Pos,
        key: &[u8],
        slot: u32,
        is_live: impl Fn(u32) -> bool,
    ) {
        let mut place = place;
        if self.leaf(place.leaf).slots.len() == FANOUT {
            self.split_leaf(place.leaf, key, is_live);
            place = self.locate(key).unwrap_or_else(|place| place);
        }
        let (leaf, at) = (place.leaf, place.at as usize);
        let node = &mut self.leaves[leaf as usize];
        node.keys.insert(at, key);
        if node.slots.len() == node.slots.capacity() {
            node.slots.reserve_exact(8);
        }
        node.slots.insert(at, slot);
        self.len += 1;
        self.set_live(Pos { leaf, at: number(at) }, true);
    }

    /// Takes a dead key out.
    pub(crate) fn remove(&mut self, pos: Pos) {
        let node = &mut self.leaves[pos.leaf as usize];
        node.keys.remove(pos.at as usize);
        node.slots.remove(pos.at as usize);
        self.len -= 1;
        if node.slots.is_empty() {
            self.unlink_leaf(pos.leaf);
        } else if node.slots.len() <= JOIN_MAX / 2 {
            self.join_leaf(pos.leaf);
        }
    }

    /// Splits a full leaf to make room for a key.
    fn split_leaf(&mut self, leaf: u32, key: &[u8], is_live: impl Fn(u32) -> bool) {
        let node = &mut self.leaves[leaf as usize];
        let is_append = node.next == NONE && node.keys.search(key) == Err(FANOUT);
        // A key behind all others gets a leaf of its own: loads in key order fill leaves.
        let cut = if is_append { FANOUT } else { FANOUT / 2 };
        let separator = if is_append { key.to_vec() } else { node.keys.separator(cut) };
        let (keys, slots) = (node.keys.split_off(cut), node.slots.split_off(cut));
        let live = number(slots.iter().filter(|slot| is_live(**slot)).count());
        node.live -= live;
        node.slots.shrink_to(cut + 8);
        let (next, parent) = (node.next, node.parent);
        let right = self.take_leaf(Leaf { keys, slots, live, parent, prev: leaf, next });
        self.leaves[leaf as usize].next = right;
        if next != NONE {
            self.leaves[next as usize].prev = right;
        }
        self.add_child(parent, leaf, &separator, Child { id: right, live, level: 1 });
    }

    fn take_leaf(&mut self, leaf: Leaf) -> u32 {
        match self.leaves_free.pop() {
            Some(id) => {
                self.leaves[id as usize] = leaf;
                id
            }
            None => {
                self.leaves.push(leaf);
                number(self.leaves.len() - 1)
            }
        }
    }

    fn take_inner(&mut self, inner: Inner) -> u32 {
        match self.inners_free.pop() {
            Some(id) => {
                self.inners[id as usize] = inner;
                id
            }
            None => {
                self.inners.push(inner);
                number(self.inners.len() - 1)
            }
        }
    }

    /// Links a child, split off from `left`, behind `left` under `parent`.
    fn add_child(&mut self, parent: u32, left: u32, separator: &[u8], right: Child) {
        if parent == NONE {
            let mut separators = Keys::default();
            separators.insert(0, separator);
            let live = vec![number(self.live) - right.live, right.live];
            let children = vec![left, right.id];
            self.root = self.take_inner(Inner { separators, children, live, parent: NONE });
            self.height += 1;
            self.set_parent(left, self.root, right.level);
            self.set_parent(right.id, self.root, right.level);
            return;
        }
        let inner = &mut self.inners[parent as usize];
        let at = index_of(&inner.children, left);
        inner.separators.insert(at, separator);
        inner.children.insert(at + 1, right.id);
        inner.live[at] -= right.live;
        inner.live.insert(at + 1, right.live);
        self.set_parent(right.id, parent, right.level);
        if self.inner(parent).children.len() > FANOUT {
            self.split_inner(parent, right.level);
        }
    }

    /// Splits an inner node whose children are at `level`.
    fn split_inner(&mut self, id: u32, level: usize) {
        let node = &mut self.inners[id as usize];
        let cut = node.children.len() / 2;
        let separator = node.separators.get(cut - 1);
        let mut separators = node.separators.split_off(cut - 1);
        separators.remove(0);
        let (children, live) = (node.children.split_off(cut), node.live.split_off(cut));
        let (parent, moved) = (node.parent, live.iter().sum::<u32>());
        let right = self.take_inner(Inner { separators, children, live, parent });
        for at in 0..self.inner(right).children.len() {
            self.set_parent(self.inner(right).children[at], right, level);
        }
        let right = Child { id: right, live: moved, level: level + 1 };
        self.add_child(parent, id, &separator, right);
    }

    /// Drops an empty leaf, unless it is the only one.
    fn unlink_leaf(&mut self, leaf: u32) {
        let Leaf { prev, next, parent, live, .. } = self.leaves[leaf as usize];
        debug_assert_eq!(live, 0, "an empty leaf holds no live key");
        if parent == NONE {
            return;
        }
        if prev != NONE {
            self.leaves[prev as usize].next = next;
        }
        if next != NONE {
            self.leaves[next as usize].prev = prev;
        }
        self.leaves[leaf as usize] = Leaf::default();
        self.leaves_free.push(leaf);
        self.unlink_child(parent, leaf);
    }

    fn unlink_child(&mut self, parent: u32, child: u32) {
        let inner = &mut self.inners[parent as usize];
        let at = index_of(&inner.children, child);
        inner.children.remove(at);
        inner.live.remove(at);
        if inner.children.is_empty() {
            let above = inner.parent;
            assert!(above != NONE, "the root has a child as long as there is a leaf");
            self.inners[parent as usize] = Inner::default();
            self.inners_free.push(parent);
            self.unlink_child(above, parent);
            return;
        }
        inner.separators.remove(at.saturating_sub(1));
        while self.height > 0 && self.inner(self.root).children.len() == 1 {
            let root = self.root;
            self.root = self.inner(root).children[0];
            self.set_parent(self.root, NONE, self.height);
            self.inners[root as usize] = Inner::default();
            self.inners_free.push(root);
            self.height -= 1;
        }
    }

    /// Joins a small leaf with a neighbour under the same parent if both are small.
    fn join_leaf(&mut self, leaf: u32) {
        let Leaf { prev, next, parent, .. } = self.leaves[leaf as usize];
        let fits = |left: u32, right: u32| {
            left != NONE
                && right != NONE
                && self.leaf(left).parent == self.leaf(right).parent
                && self.leaf(left).slots.len() + self.leaf(right).slots.len() <= JOIN_MAX
        };
        let (left, right) = if fits(leaf, next) {
            (leaf, next)
        } else if fits(prev, leaf) {
            (prev, leaf)
        } else {
            return;
        };
        let moved = std::mem::take(&mut self.leaves[right as usize].keys);
        let slots = std::mem::take(&mut self.leaves[right as usize].slots);
        let live = std::mem::take(&mut self.leaves[right as usize].live);
        let node = &mut self.leaves[left as usize];
        node.keys.append(&moved);
        node.slots.extend(slots);
        node.live += live;
        if let Some(inner) = self.inners.get_mut(parent as usize) {
            let at = index_of(&inner.children, right);
            inner.live[at - 1] += live;
            inner.live[at] = 0;
        }
        self.unlink_leaf(right);
    }

    fn set_parent(&mut self, child: u32, parent: u32, level: usize) {
        if level == 1 {
            self.leaves[child as usize].parent = parent;
        } else {
            self.inners[child as usize].parent = parent;
        }
    }
}
