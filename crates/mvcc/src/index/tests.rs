//! The tree against a sorted map, with enough keys for several levels.

use super::keys::{Keys, common_len};
use super::tree::Tree;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A tree with what it should hold: the key's slot and whether it is live.
struct Pair {
    tree: Tree,
    map: BTreeMap<Vec<u8>, u32>,
    live: Vec<bool>,
}

impl Pair {
    fn new() -> Pair {
        Pair { tree: Tree::new(), map: BTreeMap::new(), live: Vec::new() }
    }

    fn insert(&mut self, key: &[u8]) {
        let place = self.tree.locate(key);
        assert_eq!(place.ok(), self.tree.find(key));
        if let Ok(pos) = place {
            let slot = self.map[key];
            assert_eq!(self.tree.slot(pos), slot);
            let was_live = std::mem::replace(&mut self.live[slot as usize], true);
            if !was_live {
                self.tree.set_live(pos, true);
            }
            return;
        }
        let slot = u32::try_from(self.live.len()).unwrap();
        self.live.push(false);
        let live = &self.live;
        self.tree.insert(place.unwrap_err(), key, slot, |slot| live[slot as usize]);
        self.live[slot as usize] = true;
        assert_eq!(self.map.insert(key.to_vec(), slot), None);
    }

    /// Kills a live key, takes a dead one out.
    fn remove(&mut self, key: &[u8]) {
        let Some(pos) = self.tree.find(key) else {
            assert!(!self.map.contains_key(key));
            return;
        };
        let slot = self.map[key];
        if std::mem::replace(&mut self.live[slot as usize], false) {
            self.tree.set_live(pos, false);
        } else {
            self.tree.remove(pos);
            self.map.remove(key);
        }
    }

    fn is_live(&self, slot: u32) -> bool {
        self.live[slot as usize]
    }

    /// Keys and counts agree, from `probe` on too.
    fn check(&self, probe: &[u8]) {
        assert_eq!(self.tree.len(), self.map.len());
        let rank = self.tree.rank(probe, |slot| self.is_live(slot));
        let below = self.map.range(..probe.to_vec());
        assert_eq!(rank, below.filter(|(_, slot)| self.is_live(**slot)).count());
        let mut at = self.tree.seek(probe);
        for (key, slot) in self.map.range(probe.to_vec()..) {
            let pos = at.expect("the tree has as many keys");
            let (prefix, suffix) = self.tree.key(pos);
            assert_eq!(([prefix, suffix].concat(), self.tree.slot(pos)), (key.clone(), *slot));
            at = self.tree.next(pos);
        }
        assert_eq!(at, None);
    }
}

fn key(number: u32) -> Vec<u8> {
    // Mixes long common beginnings with short odd ones.
    match number % 7 {
        0 => number.to_be_bytes()[2..].to_vec(),
        1 => vec![b'z'; number as usize % 50],
        _ => format!("/registry/pods/ns-{}/pod-{number}", number % 13).into_bytes(),
    }
}

/// A fixed sequence of numbers that looks random.
fn numbers(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from(state >> 40).unwrap()
    })
}

#[test]
fn thousands_of_keys_come_and_go() {
    let mut pair = Pair::new();
    let mut numbers = numbers(7);
    let mut next = || numbers.next().unwrap() % 20_000;
    for _ in 0..30_000 {
        pair.insert(&key(next()));
    }
    pair.check(b"");
    for round in 0..12 {
        for _ in 0..20_000 {
            pair.remove(&key(next()));
        }
        for _ in 0..2_000 {
            pair.insert(&key(next()));
        }
        pair.check(&key(round * 997));
    }
    for number in 0..20_000 {
        pair.remove(&key(number));
        pair.remove(&key(number));
    }
    pair.check(b"");
    assert_eq!((pair.tree.len(), pair.tree.live()), (0, 0));
    pair.insert(b"again");
    pair.check(b"");
}

#[test]
fn keys_in_order_fill_their_leaves() {
    let mut pair = Pair::new();
    for number in 0..64_000 {
        pair.insert(format!("/registry/pods/default/pod-{number:08}").as_bytes());
    }
    pair.check(b"/registry/pods/default/pod-00030000");
    let bytes_per_key = pair.tree.memory_bytes() / 64_000;
    assert!(bytes_per_key < 20, "{bytes_per_key} bytes for a key of 35 that ends in a counter");
}

#[test]
fn a_rank_leads_over_dead_leaves() {
    let mut pair = Pair::new();
    for number in 0..10_000 {
        pair.insert(format!("{number:05}").as_bytes());
    }
    for number in 10..9_990 {
        pair.remove(format!("{number:05}").as_bytes());
    }
    let start = pair.tree.seek(b"00000").unwrap();
    let at = pair.tree.skip_to_rank(start, 10).unwrap();
    let (prefix, suffix) = pair.tree.key(at);
    assert!([prefix, suffix].concat() > b"09900".to_vec());
    assert_eq!(pair.tree.skip_to_rank(start, 0), None);
    assert_eq!(pair.tree.skip_to_rank(start, 20), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn tree_and_map_agree(steps in prop::collection::vec((any::<bool>(), 0..900u32), 0..3_000)) {
        let mut pair = Pair::new();
        for (insert, number) in steps {
            if insert { pair.insert(&key(number)) } else { pair.remove(&key(number)) }
        }
        for probe in [0, 6, 8, 300] {
            pair.check(&key(probe));
        }
    }

    #[test]
    fn a_list_of_keys_is_a_sorted_set(
        keys in prop::collection::btree_set(prop::collection::vec(0..3u8, 0..6), 2..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut list, sorted): (_, Vec<_>) = (Keys::default(), keys.into_iter().collect());
        // Inserted from both ends, so that the prefix shrinks.
        for key in sorted.iter().step_by(2).chain(sorted.iter().skip(1).step_by(2)) {
            let at = list.search(key).unwrap_err();
            list.insert(at, key);
        }
        let cut = 1 + cut.index(sorted.len() - 1);
        let separator = list.separator(cut);
        prop_assert!(sorted[cut - 1] < separator && separator <= sorted[cut]);
        let right = list.split_off(cut);
        for (at, key) in sorted.iter().enumerate() {
            let (list, at) = if at < cut { (&list, at) } else { (&right, at - cut) };
            prop_assert_eq!(&list.get(at), key);
            prop_assert_eq!(list.search(key), Ok(at));
        }
        list.append(&right);
        prop_assert_eq!(list.len(), sorted.len());
        for key in &sorted[1..] {
            let at = list.search(key).unwrap();
            list.remove(at);
        }
        prop_assert_eq!(list.get(0), sorted[0].clone());
    }
}

#[test]
fn common_beginnings() {
    assert_eq!(common_len(b"abc", b"abd"), 2);
    assert_eq!(common_len(b"", b"a"), 0);
    assert_eq!(common_len(b"ab", b"ab"), 2);
}
