//! Which groups of watchers a key concerns: a hash map for single keys, an interval tree for
//! ranges. The cost of a lookup does not grow with watchers or ranges that do not match.

use bytes::Bytes;
use std::cmp::Ordering;
use std::collections::HashMap;
use types::KeyRange;

/// The groups of one interval, by their options (`group::Options::slot`).
pub(crate) type Slots = [u32; 8];
/// No group, no node.
pub(crate) const NONE: u32 = u32::MAX;

/// The index. Only lookups go to the hash map, so its order never shows.
#[derive(Default)]
pub(crate) struct Index {
    singles: HashMap<Bytes, Slots>,
    tree: Tree,
}

impl Index {
    /// The slots of an interval, made if new.
    pub(crate) fn slots_mut(&mut self, range: &KeyRange) -> &mut Slots {
        if range.is_single() {
            return self.singles.entry(range.key.clone()).or_insert([NONE; 8]);
        }
        let at = match self.tree.find(range) {
            Some(at) => at,
            None => self.tree.insert(range),
        };
        &mut self.tree.nodes[to_usize(at)].slots
    }

    /// Forgets an interval whose slots are all empty.
    pub(crate) fn trim(&mut self, range: &KeyRange) {
        if range.is_single() {
            if self.singles.get(&range.key).is_some_and(|slots| *slots == [NONE; 8]) {
                self.singles.remove(&range.key);
            }
            return;
        }
        let Some(at) = self.tree.find(range) else { return };
        if self.tree.nodes[to_usize(at)].slots == [NONE; 8] {
            self.tree.remove(range);
        }
    }

    /// Calls `visit` with each group of an interval that holds `key`.
    pub(crate) fn visit(&self, key: &[u8], mut visit: impl FnMut(u32)) {
        let mut slots = |slots: &Slots| {
            for group in slots {
                if *group != NONE {
                    visit(*group);
                }
            }
        };
        if let Some(found) = self.singles.get(key) {
            slots(found);
        }
        self.tree.stab(self.tree.root, key, &mut slots);
    }

    /// Number of intervals.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.singles.len() + self.tree.nodes.len() - self.tree.free.len()
    }
}

/// A treap by (first key, bound), each node with the largest bound below it. Priorities come from
/// a counter, so that neither clients nor chance shape it.
struct Tree {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    made: u64,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { nodes: Vec::new(), free: Vec::new(), root: NONE, made: 0 }
    }
}

struct Node {
    range: KeyRange,
    /// The largest bound of the subtree.
    upper: Upper,
    priority: u64,
    left: u32,
    right: u32,
    slots: Slots,
}

/// An exclusive upper bound; the derived order puts `Open` above all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Upper {
    Below(Bytes),
    Open,
}

impl Upper {
    fn of(range: &KeyRange) -> Upper {
        if range.is_open_ended() { Upper::Open } else { Upper::Below(range.end.clone()) }
    }

    fn is_above(&self, key: &[u8]) -> bool {
        match self {
            Upper::Below(end) => key < end.as_ref(),
            Upper::Open => true,
        }
    }
}

fn order(a: &KeyRange, b: &KeyRange) -> Ordering {
    a.key.cmp(&b.key).then_with(|| a.end.cmp(&b.end))
}

fn to_usize(at: u32) -> usize {
    usize::try_from(at).expect("u32 fits usize")
}

/// Mixes a counter into a priority (splitmix64).
fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Tree {
    fn node(&self, at: u32) -> &Node {
        &self.nodes[to_usize(at)]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[to_usize(at)]
    }

    fn find(&self, range: &KeyRange) -> Option<u32> {
        let mut at = self.root;
        while at != NONE {
            let node = self.node(at);
            at = match order(range, &node.range) {
                Ordering::Equal => return Some(at),
                Ordering::Less => node.left,
                Ordering::Greater => node.right,
            };
        }
        None
    }

    fn insert(&mut self, range: &KeyRange) -> u32 {
        self.made += 1;
        let node = Node {
            range: range.clone(),
            upper: Upper::of(range),
            priority: mix(self.made),
            left: NONE,
            right: NONE,
            slots: [NONE; 8],
        };
        let at = match self.free.pop() {
            Some(at) => {
                *self.node_mut(at) = node;
                at
            }
            None => {
                self.nodes.push(node);
                u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 watched ranges")
            }
        };
        let (left, right) = self.split(self.root, range);
        let left = self.join(left, at);
        self.root = self.join(left, right);
        at
    }

    fn remove(&mut self, range: &KeyRange) {
        self.root = self.without(self.root, range);
    }

    /// The subtree without the node of `range`.
    fn without(&mut self, at: u32, range: &KeyRange) -> u32 {
        if at == NONE {
            return NONE;
        }
        let (left, right) = (self.node(at).left, self.node(at).right);
        match order(range, &self.node(at).range) {
            Ordering::Equal => {
                self.free.push(at);
                return self.join(left, right);
            }
            Ordering::Less => self.node_mut(at).left = self.without(left, range),
            Ordering::Greater => self.node_mut(at).right = self.without(right, range),
        }
        self.update(at);
        at
    }

    /// Splits into what lies below `range` and what does not.
    fn split(&mut self, at: u32, range: &KeyRange) -> (u32, u32) {
        if at == NONE {
            return (NONE, NONE);
        }
        if order(&self.node(at).range, range) == Ordering::Less {
            let (low, high) = self.split(self.node(at).right, range);
            self.node_mut(at).right = low;
            self.update(at);
            (at, high)
        } else {
            let (low, high) = self.split(self.node(at).left, range);
            self.node_mut(at).left = high;
            self.update(at);
            (low, at)
        }
    }

    /// Joins two subtrees, all of `low` below all of `high`.
    fn join(&mut self, low: u32, high: u32) -> u32 {
        if low == NONE {
            return high;
        }
        if high == NONE {
            return low;
        }
        if self.node(high).priority < self.node(low).priority {
            let right = self.node(low).right;
            self.node_mut(low).right = self.join(right, high);
            self.update(low);
            low
        } else {
            let left = self.node(high).left;
            self.node_mut(high).left = self.join(low, left);
            self.update(high);
            high
        }
    }

    fn update(&mut self, at: u32) {
        let node = self.node(at);
        let mut upper = Upper::of(&node.range);
        for child in [node.left, node.right] {
            if child != NONE {
                let below = &self.node(child).upper;
                if upper < *below {
                    upper = below.clone();
                }
            }
        }
        self.node_mut(at).upper = upper;
    }

    fn stab(&self, at: u32, key: &[u8], visit: &mut impl FnMut(&Slots)) {
        if at == NONE || !self.node(at).upper.is_above(key) {
            return;
        }
        let node = self.node(at);
        self.stab(node.left, key, visit);
        if node.range.key.as_ref() <= key {
            if node.range.bound().is_none_or(|end| key < end) {
                visit(&node.slots);
            }
            self.stab(node.right, key, visit);
        }
    }
}
