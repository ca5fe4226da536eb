//! A socket that gathers: what one poll of the connection writes leaves in one system call.
//!
//! `h2` flushes after each frame; passed on as it comes, that is one `writev` a frame. Here a
//! write only appends to a buffer, and [`Driver`] empties the buffer after each poll.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Gathered bytes beyond which a write waits for the socket.
const GATHER_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    out: BytesMut,
}

impl Socket {
    /// Writes what was gathered, as far as the socket takes it.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.out))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The socket as `h2` sees it. The mutex joins it to its driver: both are polled by one task, so
/// it is never contended.
#[derive(Clone, Debug)]
pub(crate) struct Gather(Arc<Mutex<Socket>>);

impl Gather {
    pub(crate) fn new(stream: TcpStream) -> Gather {
        let out = BytesMut::with_capacity(16 * 1024);
        Gather(Arc::new(Mutex::new(Socket { stream, out })))
    }

    fn lock(&self) -> MutexGuard<'_, Socket> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

impl AsyncRead for Gather {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Gather {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut socket = self.lock();
        if socket.out.len() >= GATHER_BYTES_MAX {
            ready!(socket.poll_drain(cx))?;
        }
        socket.out.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut socket = self.lock();
        ready!(socket.poll_drain(cx))?;
        Pin::new(&mut socket.stream).poll_shutdown(cx)
    }
}

/// The future of the handshake or of the connection, with the gathered bytes sent after each
/// poll.
#[derive(Debug)]
pub(crate) struct Driver<F> {
    inner: F,
    socket: Gather,
}

impl<F> Driver<F> {
    pub(crate) fn new(inner: F, socket: Gather) -> Driver<F> {
        Driver { inner, socket }
    }
}

impl<F: Future + Unpin> Future for Driver<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let done = Pin::new(&mut self.inner).poll(cx);
        // An error of the socket is seen by the next read, which ends the connection.
        let _ = self.socket.lock().poll_drain(cx);
        done
    }
}

/// What the connection of this crate is made of.
pub(crate) type Connection = h2::client::Connection<Gather, Bytes>;
