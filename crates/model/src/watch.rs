//! What a watcher is to get: every event of its keys from its start on, in order.

/// One change of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchEvent {
    /// Main revision.
    pub main: i64,
    /// Position within the revision.
    pub sub: i64,
    /// The key.
    pub key: Vec<u8>,
    /// True for a delete.
    pub delete: bool,
    /// Main revision of the record before this revision, if there was one.
    pub prev: Option<i64>,
}

/// What a watcher asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watcher {
    /// First key.
    pub key: Vec<u8>,
    /// Empty: the one key. One zero byte: no bound. Else the exclusive bound.
    pub end: Vec<u8>,
    /// First revision.
    pub start: i64,
    /// Without puts.
    pub no_put: bool,
    /// Without deletes.
    pub no_delete: bool,
}

impl Watcher {
    /// True if the watcher gets this event.
    pub fn gets(&self, event: &WatchEvent) -> bool {
        let inside = if self.end.is_empty() {
            event.key == self.key
        } else {
            self.key <= event.key && (self.end == [0] || event.key < self.end)
        };
        let filtered = if event.delete { self.no_delete } else { self.no_put };
        inside && !filtered && self.start <= event.main
    }

    /// Everything the watcher gets of a history.
    pub fn of(&self, history: &[WatchEvent]) -> Vec<WatchEvent> {
        history.iter().filter(|event| self.gets(event)).cloned().collect()
    }
}
