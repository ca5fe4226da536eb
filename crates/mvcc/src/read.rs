//! Reads: ranges and counts at the newest and at older revisions.

use crate::index::Pos;
use crate::keyspace::{Keyspace, numbers};
use crate::kv;
use crate::slab::{Entry, Version};
use bytes::Bytes;
use std::cmp::Ordering;
use types::op::{SortOrder, SortTarget};
use types::outcome::{Item, RangeOutcome};
use types::{KeyRange, OpError, RangeOp, Revision};

/// Dead leaves walked over before the next live key is looked up by rank.
const DEAD_LEAVES_MAX: usize = 4;

/// One key met by a walk.
#[derive(Clone, Copy)]
pub(crate) struct Visit<'a> {
    pub(crate) pos: Pos,
    pub(crate) entry: &'a Entry,
    /// The version visible at the walk's revision.
    pub(crate) version: Version,
}

impl Keyspace {
    /// Reads an interval at the newest or an older revision (contract: Range).
    pub fn range(&self, op: &RangeOp) -> Result<RangeOutcome, OpError> {
        self.range_from(op, self.revision)
    }

    /// Keys in an interval at a revision.
    pub fn count(&self, range: &KeyRange, revision: i64) -> Result<i64, OpError> {
        Ok(self.count_at(range, self.readable(revision, self.revision)?))
    }

    /// The records that [`Keyspace::range`] needs in memory but that are cold: only a sort by
    /// value reads any. Other ranges answer with cold items.
    pub fn needs_for_range(&self, op: &RangeOp) -> Vec<Revision> {
        let Ok(at) = self.readable(op.revision, self.revision) else { return Vec::new() };
        if op.sort_target != SortTarget::Value || op.count_only {
            return Vec::new();
        }
        let found = self.select(op, at);
        let items = found.iter().map(|visit| self.item(visit.entry, &visit.version));
        items.filter_map(cold_revision).collect()
    }

    /// Reads an interval, with `newest` as the current revision.
    pub(crate) fn range_from(&self, op: &RangeOp, newest: i64) -> Result<RangeOutcome, OpError> {
        let at = self.readable(op.revision, newest)?;
        let count = self.count_at(&op.range, at);
        let mut outcome = RangeOutcome { items: Vec::new(), more: false, count, revision: newest };
        if op.count_only || count == 0 {
            return Ok(outcome);
        }
        if is_plain(op) && !op.keys_only {
            let expected = usize::try_from(count).unwrap_or(usize::MAX).min(fetch_max(op));
            outcome.items.reserve_exact(expected);
            self.walk(&op.range, at, fetch_max(op), |visit| {
                outcome.items.push(self.item(visit.entry, &visit.version));
            });
            outcome.more = cut(&mut outcome.items, op.limit);
            return Ok(outcome);
        }
        let mut found = self.select(op, at);
        self.sort(&mut found, op);
        outcome.more = cut(&mut found, op.limit);
        outcome.items = if op.keys_only {
            self.keys_only(&found, op.sort_target)
        } else {
            found.iter().map(|visit| self.item(visit.entry, &visit.version)).collect()
        };
        Ok(outcome)
    }

    /// What a range finds before it sorts: the keys within the fetch limit, filtered.
    fn select(&self, op: &RangeOp, at: i64) -> Vec<Visit<'_>> {
        let mut found = Vec::new();
        self.walk(&op.range, at, fetch_max(op), |visit| {
            if passes(op, &visit.version) {
                found.push(visit);
            }
        });
        found
    }

    /// Ties keep the order of keys, in both directions.
    fn sort(&self, found: &mut [Visit<'_>], op: &RangeOp) {
        let descend = op.sort_order == SortOrder::Descend;
        let direct = |order: Ordering| if descend { order.reverse() } else { order };
        let by_number = |found: &mut [Visit<'_>], number: fn(&Version) -> i64| {
            found.sort_by(|a, b| direct(number(&a.version).cmp(&number(&b.version))));
        };
        match op.sort_target {
            SortTarget::Key if descend => found.reverse(),
            // Numbers outside the enum are refused before they come here.
            SortTarget::Key | SortTarget::Unknown => {}
            SortTarget::Version => by_number(found, |version| version.version),
            SortTarget::Create => by_number(found, |version| version.create),
            SortTarget::Mod => by_number(found, |version| version.main),
            SortTarget::Value => {
                let mut keyed: Vec<(Bytes, Visit<'_>)> =
                    found.iter().map(|visit| (self.value_of(visit), *visit)).collect();
                keyed.sort_by(|(a, _), (b, _)| direct(a.cmp(b)));
                for (to, (_, visit)) in found.iter_mut().zip(keyed) {
                    *to = visit;
                }
            }
        }
    }

    fn value_of(&self, visit: &Visit<'_>) -> Bytes {
        match self.item(visit.entry, &visit.version) {
            Item::Resident(record) => kv::value(&record),
            Item::Cold { revision, .. } => {
                unreachable!("the caller warms what needs_for_range names: {revision}")
            }
        }
    }

    /// Records without their values, all in one buffer. Built from the index, and then without
    /// the lease, as etcd 3.7 does unless it has to sort by value.
    fn keys_only(&self, found: &[Visit<'_>], target: SortTarget) -> Vec<Item> {
        let (mut buffer, mut ends) = (Vec::new(), Vec::with_capacity(found.len()));
        for visit in found {
            let (prefix, suffix) = self.tree.key(visit.pos);
            let mut numbers = numbers(&visit.version);
            if target != SortTarget::Value {
                numbers.lease = 0;
            }
            kv::encode_into(&mut buffer, [prefix, suffix], &numbers, &[]);
            ends.push(buffer.len());
        }
        let (buffer, mut start) = (Bytes::from(buffer), 0);
        let slice = |end: usize| {
            let item = Item::Resident(buffer.slice(start..end));
            start = end;
            item
        };
        ends.into_iter().map(slice).collect()
    }

    /// Keys in an interval that exist at a readable revision.
    pub(crate) fn count_at(&self, range: &KeyRange, at: i64) -> i64 {
        if range.is_empty() {
            return 0;
        }
        if range.is_single() {
            return i64::from(self.find_visible(&range.key, at).is_some());
        }
        let live = self.live_between(&range.key, range.bound());
        let newer = if at >= self.newest() { Some(0) } else { self.recent.count_after(at) };
        match newer {
            Some(0) => live,
            // Undoing the changes since is cheaper than a walk unless there were more of them
            // than keys.
            Some(newer) if newer <= 256 || newer < self.tree.len() => {
                live - self.recent.growth_after(at, range)
            }
            _ => {
                let mut count = 0;
                self.walk(range, at, usize::MAX, |_| count += 1);
                count
            }
        }
    }

    fn live_between(&self, low: &[u8], high: Option<&[u8]>) -> i64 {
        let rank = |key: &[u8]| self.tree.rank(key, |slot| self.slab.get(slot).is_live());
        let below_high = high.map_or(self.tree.live(), rank);
        let live = below_high.saturating_sub(rank(low));
        i64::try_from(live).expect("fewer than 2^63 keys fit in memory")
    }

    fn find_visible(&self, key: &[u8], at: i64) -> Option<Visit<'_>> {
        let pos = self.tree.find(key)?;
        let entry = self.entry_at(pos);
        entry.visible_at(at).map(|version| Visit { pos, entry, version })
    }

    /// Visits the keys of an interval that exist at a revision, in key order, `max` at most.
    pub(crate) fn walk<'a>(
        &'a self,
        range: &KeyRange,
        at: i64,
        max: usize,
        mut visit: impl FnMut(Visit<'a>),
    ) {
        if range.is_single() {
            if let Some(found) = self.find_visible(&range.key, at).filter(|_| max > 0) {
                visit(found);
            }
        } else if !range.is_empty() && at >= self.newest() {
            self.walk_newest(range, max, visit);
        } else if !range.is_empty() {
            let end = range.bound().and_then(|end| self.tree.seek(end));
            let (mut next, mut left) = (self.tree.seek(&range.key), max);
            while let Some(pos) = next.filter(|pos| left > 0 && Some(*pos) != end) {
                let entry = self.entry_at(pos);
                if let Some(version) = entry.visible_at(at) {
                    visit(Visit { pos, entry, version });
                    left -= 1;
                }
                next = self.tree.next(pos);
            }
        }
    }

    /// At the newest revision the number of keys is known beforehand, and stretches of deleted
    /// keys are skipped.
    fn walk_newest<'a>(&'a self, range: &KeyRange, max: usize, mut visit: impl FnMut(Visit<'a>)) {
        let count = self.live_between(&range.key, range.bound());
        let mut left = usize::try_from(count).unwrap_or(0).min(max);
        let (mut next, mut done, mut dead_leaves) = (self.tree.seek(&range.key), 0, 0);
        while let Some(pos) = next.filter(|_| left > 0) {
            if self.tree.is_dead_leaf(pos) {
                dead_leaves += 1;
                if dead_leaves > DEAD_LEAVES_MAX {
                    dead_leaves = 0;
                    let before = self.live_between(&[], Some(&range.key));
                    let rank = usize::try_from(before).unwrap_or(0) + done;
                    next = self.tree.skip_to_rank(pos, rank);
                } else {
                    next = self.tree.next_leaf(pos);
                }
                continue;
            }
            let entry = self.entry_at(pos);
            if entry.is_live() {
                visit(Visit { pos, entry, version: entry.newest });
                done += 1;
                left -= 1;
            }
            next = self.tree.next(pos);
        }
    }
}

/// The revision of an item that is not in memory.
pub(crate) fn cold_revision(item: Item) -> Option<Revision> {
    match item {
        Item::Cold { revision, .. } => Some(revision),
        Item::Resident(_) => None,
    }
}

fn has_filters(op: &RangeOp) -> bool {
    [op.min_mod_revision, op.max_mod_revision, op.min_create_revision, op.max_create_revision]
        .iter()
        .any(|bound| *bound != 0)
}

/// True if the answer is in key order and unfiltered: it needs no second look.
fn is_plain(op: &RangeOp) -> bool {
    op.sort_target == SortTarget::Key && op.sort_order != SortOrder::Descend && !has_filters(op)
}

/// Most keys to fetch. With the default order and no filter etcd takes one more than the limit,
/// in key order, even if a sort target then reorders them.
fn fetch_max(op: &RangeOp) -> usize {
    let default_order = op.sort_order == SortOrder::None
        || (op.sort_target == SortTarget::Key && op.sort_order == SortOrder::Ascend);
    if op.limit <= 0 || !default_order || has_filters(op) {
        return usize::MAX;
    }
    usize::try_from(op.limit).unwrap_or(usize::MAX).saturating_add(1)
}

fn passes(op: &RangeOp, version: &Version) -> bool {
    let within = |number: i64, min: i64, max: i64| {
        (max == 0 || number <= max) && (min == 0 || min <= number)
    };
    within(version.main, op.min_mod_revision, op.max_mod_revision)
        && within(version.create, op.min_create_revision, op.max_create_revision)
}

/// Cuts to the limit; true if something was cut off.
fn cut<T>(found: &mut Vec<T>, limit: i64) -> bool {
    let limit = usize::try_from(limit).unwrap_or(0);
    let more = 0 < limit && limit < found.len();
    if more {
        found.truncate(limit);
    }
    more
}
