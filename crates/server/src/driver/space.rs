//! The state of the disk as both writing threads see it: full while either is out of space.

use super::mailbox::{Mail, Mailbox};
use member::Event;
use member::event::DiskSpace;
use std::sync::{Arc, Mutex};

/// Which thread speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The log thread.
    Log,
    /// The flush thread.
    Backend,
}

/// Who is out of space. The lock is held over the post, so that the loop hears of changes in
/// their order, and over nothing that waits.
#[derive(Clone)]
pub(super) struct Space {
    full: Arc<Mutex<[bool; 2]>>,
    mailbox: Arc<Mailbox>,
}

impl Space {
    pub(super) fn new(mailbox: Arc<Mailbox>) -> Space {
        Space { full: Arc::default(), mailbox }
    }

    /// True while this thread is out of space.
    pub(super) fn is_full(&self, part: Part) -> bool {
        self.full.lock().expect("nobody panics while holding this")[part as usize]
    }

    /// Notes that a thread is out of space (with the error, if there is one) or no more, and
    /// tells the loop if that changes what clients may do.
    pub(super) fn set(&self, part: Part, is_full: bool, error: Option<&vfs::Error>) {
        let mut full = self.full.lock().expect("nobody panics while holding this");
        let before = full.contains(&true);
        full[part as usize] = is_full;
        let space = match (before, full.contains(&true)) {
            (false, true) => {
                let error = error.map(ToString::to_string).unwrap_or_default();
                tracing::warn!(%error, "the disk is full: new writes are refused");
                DiskSpace::Full
            }
            (true, false) => {
                tracing::info!("the disk has room again");
                DiskSpace::Ok
            }
            _ => return,
        };
        self.mailbox.post(Mail::Event(Event::DiskSpace(space)));
    }
}
