//! Where answers go: gathered per connection, handed over with one wake per turn.

use super::slot::Slot;
use member::{Header, Response};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;
use types::OpError;

/// An answer of the member.
#[derive(Debug)]
pub struct Answer {
    /// Header fields.
    pub header: Header,
    /// The answer itself.
    pub result: Result<Response, OpError>,
    /// What cold items in it are read with.
    pub reader: Option<backend::Reader>,
}

/// Who gets an answer.
#[derive(Debug)]
pub enum ReplyTo {
    /// A call that its connection's task holds.
    Call {
        /// The connection.
        outbox: Rc<Outbox>,
        /// Which of its calls.
        call: u32,
    },
    /// A task that waits for it.
    Waiter(Rc<Slot<Answer>>),
    /// Nobody cares.
    Nobody,
}

/// Answers for one connection.
#[derive(Debug, Default)]
pub struct Outbox {
    answers: RefCell<Vec<(u32, Answer)>>,
    waker: RefCell<Option<Waker>>,
    /// True while the loop has the connection on its list of those to wake.
    listed: Cell<bool>,
}

impl Outbox {
    /// Adds an answer. True if the caller must put the connection on its list.
    pub fn push(&self, call: u32, answer: Answer) -> bool {
        self.answers.borrow_mut().push((call, answer));
        !self.listed.replace(true)
    }

    /// Wakes the connection's task; it is off the list.
    pub fn wake(&self) {
        self.listed.set(false);
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Says whom to wake.
    pub fn register(&self, waker: &Waker) {
        let mut held = self.waker.borrow_mut();
        if !held.as_ref().is_some_and(|held| held.will_wake(waker)) {
            *held = Some(waker.clone());
        }
    }

    /// Swaps the answers with an empty list, so that both keep their memory.
    pub fn take(&self, into: &mut Vec<(u32, Answer)>) {
        std::mem::swap(&mut *self.answers.borrow_mut(), into);
    }
}
