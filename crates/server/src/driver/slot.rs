//! A place for one value that a task waits for, on the loop's own thread.

use std::cell::RefCell;
use std::task::{Context, Poll, Waker};

/// One value to come.
#[derive(Debug)]
pub struct Slot<T> {
    state: RefCell<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T> Default for Slot<T> {
    fn default() -> Slot<T> {
        Slot { state: RefCell::new(State { value: None, waker: None }) }
    }
}

impl<T> Slot<T> {
    /// Puts the value in and wakes who waits.
    pub fn fill(&self, value: T) {
        let waker = {
            let mut state = self.state.borrow_mut();
            state.value = Some(value);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the value, or asks to be woken.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<T> {
        let mut state = self.state.borrow_mut();
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
