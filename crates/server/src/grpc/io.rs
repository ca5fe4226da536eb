//! The socket under h2: gathers what h2 writes and sends it once per poll of the connection.
//!
//! h2 flushes after every DATA frame of 256 bytes or more; a system call per answer is most of a
//! small answer's cost. Here a write only appends, and the connection task drains once at the end
//! of each of its polls. While more than `GATHER_BYTES_MAX` cannot be sent, reads pause too: a
//! client that does not read is not read from.

use super::ping::PingWatch;
use bytes::{Buf, Bytes};
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Unsent bytes at which writes and reads wait for the socket.
const GATHER_BYTES_MAX: usize = 512 * 1024;
/// A drained buffer larger than this is given back.
const GATHER_BYTES_KEPT: usize = 64 * 1024;

/// h2's end of the socket.
#[derive(Debug)]
pub struct LazyIo<S> {
    inner: Rc<RefCell<Inner<S>>>,
}

/// The connection task's end of the same socket.
#[derive(Debug)]
pub struct Drain<S> {
    inner: Rc<RefCell<Inner<S>>>,
}

#[derive(Debug)]
struct Inner<S> {
    socket: S,
    /// Bytes that were read to find out the protocol.
    sniffed: Bytes,
    gathered: Vec<u8>,
    /// How much of `gathered` was sent.
    sent: usize,
    /// Who waits to read until the buffer is drained.
    reader: Option<Waker>,
    pings: PingWatch,
}

/// Splits a socket into the two ends.
pub fn lazy<S>(socket: S, sniffed: Bytes, pings: PingWatch) -> (LazyIo<S>, Drain<S>) {
    let inner = Inner { socket, sniffed, gathered: Vec::new(), sent: 0, reader: None, pings };
    let inner = Rc::new(RefCell::new(inner));
    (LazyIo { inner: Rc::clone(&inner) }, Drain { inner })
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner<S> {
    fn unsent(&self) -> usize {
        self.gathered.len() - self.sent
    }

    fn gather(&mut self, bytes: &[u8]) {
        self.pings.sent(bytes);
        self.gathered.extend_from_slice(bytes);
    }

    /// Sends what was gathered; `Pending` while the socket is full.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.gathered.len() {
            let socket = Pin::new(&mut self.socket);
            let count = ready!(socket.poll_write(cx, &self.gathered[self.sent..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += count;
        }
        self.sent = 0;
        self.gathered.clear();
        if GATHER_BYTES_KEPT < self.gathered.capacity() {
            self.gathered = Vec::new();
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }

    /// Makes room for more, if there is too much already.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unsent() < GATHER_BYTES_MAX {
            return Poll::Ready(Ok(()));
        }
        self.poll_drain(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Drain<S> {
    /// Sends what was gathered; `Pending` while the socket is full.
    pub fn poll_drain(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.borrow_mut().poll_drain(cx)
    }

    /// True if the client pinged more than the server allows.
    pub fn too_many_pings(&self) -> bool {
        self.inner.borrow().pings.exceeded()
    }

    /// True if the client may have reset a stream since this was last asked. While h2 has to wait
    /// for room it takes no frames, and the answer stays true.
    pub fn take_reset(&self) -> bool {
        let inner = &mut *self.inner.borrow_mut();
        let has_room = inner.unsent() < GATHER_BYTES_MAX;
        if has_room { inner.pings.take_reset() } else { inner.pings.has_reset() }
    }

    /// Appends bytes behind h2's last frame: for the GOAWAY that h2 cannot write.
    pub fn append(&self, bytes: &[u8]) {
        self.inner.borrow_mut().gathered.extend_from_slice(bytes);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for LazyIo<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let inner = &mut *self.inner.borrow_mut();
        if GATHER_BYTES_MAX <= inner.unsent() {
            inner.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let before = buf.filled().len();
        if inner.sniffed.is_empty() {
            ready!(Pin::new(&mut inner.socket).poll_read(cx, buf))?;
        } else {
            let count = inner.sniffed.len().min(buf.remaining());
            buf.put_slice(&inner.sniffed[..count]);
            inner.sniffed.advance(count);
        }
        inner.pings.received(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LazyIo<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let inner = &mut *self.inner.borrow_mut();
        ready!(inner.poll_room(cx))?;
        inner.gather(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let inner = &mut *self.inner.borrow_mut();
        ready!(inner.poll_room(cx))?;
        let before = inner.gathered.len();
        for slice in slices {
            inner.gather(slice);
        }
        Poll::Ready(Ok(inner.gathered.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = &mut *self.inner.borrow_mut();
        ready!(inner.poll_drain(cx))?;
        Pin::new(&mut inner.socket).poll_shutdown(cx)
    }
}
