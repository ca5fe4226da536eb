//! Watch streams and the tasks that serve them.

use member::StreamId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Streams by id.
#[derive(Debug, Default)]
pub struct Watches {
    streams: BTreeMap<StreamId, Rc<Signal>>,
    next: u64,
}

/// Says that a stream has messages.
#[derive(Debug, Default)]
pub struct Signal {
    ready: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Signal {
    /// Ready once after each time that messages came.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.ready.replace(false) {
            return Poll::Ready(());
        }
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Messages came.
    pub fn set(&self) {
        self.ready.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Watches {
    /// A new stream.
    pub fn open(&mut self) -> (StreamId, Rc<Signal>) {
        let stream = StreamId(self.next);
        self.next += 1;
        let signal = Rc::new(Signal::default());
        self.streams.insert(stream, Rc::clone(&signal));
        (stream, signal)
    }

    /// Messages came for a stream.
    pub fn set_ready(&self, stream: StreamId) {
        if let Some(signal) = self.streams.get(&stream) {
            signal.set();
        }
    }

    /// The stream ended.
    pub fn close(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }
}
