//! Watchers of the same keys and options: they share each message's events.

use crate::change::Change;
use crate::create::Create;
use crate::index::{Index, NONE};
use crate::message::Body;
use types::KeyRange;

/// What decides which events a watcher gets and how they look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Options {
    pub(crate) no_put: bool,
    pub(crate) no_delete: bool,
    pub(crate) prev_kv: bool,
}

impl Options {
    pub(crate) fn of(create: &Create) -> Options {
        Options { no_put: create.no_put, no_delete: create.no_delete, prev_kv: create.prev_kv }
    }

    /// Position among the groups of one interval.
    fn slot(self) -> usize {
        usize::from(self.no_put) | usize::from(self.no_delete) << 1 | usize::from(self.prev_kv) << 2
    }

    fn takes(self, change: &Change) -> bool {
        if change.tombstone { !self.no_delete } else { !self.no_put }
    }
}

/// One group.
#[derive(Debug)]
pub(crate) struct Group {
    range: KeyRange,
    pub(crate) options: Options,
    /// Watchers that are synced. Invariant: `watchers[synced[i]].position == i`.
    pub(crate) synced: Vec<u32>,
    /// Number of watchers in any other state.
    pub(crate) others: usize,
    /// Changes that concern the group, while one call goes on; else empty.
    pub(crate) pending: Vec<u32>,
    /// Events of the revision that is being noted.
    pub(crate) body: Body,
}

/// All groups, with the index that finds those of a key.
#[derive(Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    free: Vec<u32>,
    index: Index,
}

fn to_usize(at: u32) -> usize {
    usize::try_from(at).expect("u32 fits usize")
}

impl Groups {
    pub(crate) fn get(&self, at: u32) -> &Group {
        &self.groups[to_usize(at)]
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> &mut Group {
        &mut self.groups[to_usize(at)]
    }

    /// The group of an interval and options, made if new.
    pub(crate) fn find_or_make(&mut self, range: &KeyRange, options: Options) -> u32 {
        let slot = &mut self.index.slots_mut(range)[options.slot()];
        if *slot != NONE {
            return *slot;
        }
        let group = Group {
            range: range.clone(),
            options,
            synced: Vec::new(),
            others: 0,
            pending: Vec::new(),
            body: Body::default(),
        };
        *slot = match self.free.pop() {
            Some(at) => {
                self.groups[to_usize(at)] = group;
                at
            }
            None => {
                self.groups.push(group);
                u32::try_from(self.groups.len() - 1).expect("fewer than 2^32 groups")
            }
        };
        *slot
    }

    /// Forgets the group if it has no watcher left.
    pub(crate) fn trim(&mut self, at: u32) {
        let group = &self.groups[to_usize(at)];
        if !group.synced.is_empty() || group.others > 0 {
            return;
        }
        let (range, options) = (group.range.clone(), group.options);
        self.groups[to_usize(at)].body = Body::default();
        self.index.slots_mut(&range)[options.slot()] = NONE;
        self.index.trim(&range);
        self.free.push(at);
    }

    /// Notes each change at each group that it concerns and that `wanted` says yes to; returns
    /// those groups, each once.
    pub(crate) fn sort(&mut self, changes: &[Change], wanted: impl Fn(&Group) -> bool) -> Vec<u32> {
        let mut touched = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let at = u32::try_from(at).expect("fewer than 2^32 changes");
            self.index.visit(&change.key, |id| {
                let group = &mut self.groups[to_usize(id)];
                if group.options.takes(change) && wanted(group) {
                    if group.pending.is_empty() {
                        touched.push(id);
                    }
                    group.pending.push(at);
                }
            });
        }
        touched
    }

    /// True if a group that holds `key` satisfies `wanted`.
    pub(crate) fn any(&self, key: &[u8], wanted: impl Fn(&Group) -> bool) -> bool {
        let mut found = false;
        self.index.visit(key, |id| found |= wanted(self.get(id)));
        found
    }

    /// Number of groups.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        assert_eq!(self.groups.len() - self.free.len() == 0, self.index.len() == 0);
        self.groups.len() - self.free.len()
    }
}
