//! What the other threads tell the loop.

use bytes::Bytes;
use member::Event;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// One message to the loop.
#[derive(Debug)]
pub enum Mail {
    /// For the member.
    Event(Event),
    /// Cold records for an answer, in the order asked for.
    Cold {
        /// Which read.
        read: u64,
        /// The encoded records.
        records: Vec<Bytes>,
    },
}

/// The loop's letter box. The mutex guards a swap of vectors; a channel would wake the loop once
/// per message, this wakes it once per emptying.
#[derive(Debug, Default)]
pub struct Mailbox {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    mail: Vec<Mail>,
    waker: Option<Waker>,
}

impl Mailbox {
    /// Posts a message and wakes the loop if it sleeps.
    pub fn post(&self, mail: Mail) {
        let waker = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.mail.push(mail);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes all messages and leaves word whom to wake for the next.
    pub fn take(&self, waker: &Waker, into: &mut Vec<Mail>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut state.mail, into);
        if !state.waker.as_ref().is_some_and(|held| held.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }
}
