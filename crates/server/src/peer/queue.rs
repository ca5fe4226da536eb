//! Messages that wait for their connection.

use super::wire;
use bytes::{Bytes, BytesMut};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// Messages of one lane that may wait; more are dropped.
const COUNT_MAX: usize = 4_096;
/// Bytes of one lane that may wait; more are dropped.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes that are sent in one piece, if there are several messages.
const GATHER_BYTES_MAX: usize = 256 * 1024;

/// A bounded queue with one reader.
#[derive(Debug, Default)]
pub(super) struct Queue {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    messages: VecDeque<Bytes>,
    bytes: usize,
    reader: Option<Waker>,
}

impl Queue {
    /// Adds a message; false if it was dropped because too much waits.
    pub(super) fn push(&self, message: Bytes) -> bool {
        let mut inner = self.inner.borrow_mut();
        let bytes = inner.bytes + message.len();
        let full = COUNT_MAX <= inner.messages.len() || BYTES_MAX < bytes;
        if full && !inner.messages.is_empty() {
            return false;
        }
        inner.bytes = bytes;
        inner.messages.push_back(message);
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
        true
    }

    /// Frames of the next messages, as many as go in one piece.
    pub(super) fn poll_gather(&self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut inner = self.inner.borrow_mut();
        let mut gathered = BytesMut::new();
        while let Some(message) = inner.messages.pop_front() {
            inner.bytes -= message.len();
            wire::seal(&message, &mut gathered);
            if GATHER_BYTES_MAX <= gathered.len() {
                break;
            }
        }
        if gathered.is_empty() {
            inner.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(gathered.freeze())
    }

    /// Drops everything; true if there was something.
    pub(super) fn clear(&self) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.bytes = 0;
        let held = !inner.messages.is_empty();
        inner.messages.clear();
        held
    }
}
