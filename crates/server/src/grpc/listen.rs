//! Listeners of the client and metrics ports: bound at start, served once the member is ready.
//!
//! The first bytes of a client's connection decide: an HTTP/2 preface is gRPC, anything else is
//! HTTP/1.

use super::connection::{self, HANDSHAKE_MAX};
use crate::config::Config;
use crate::config::url::{Scheme, Url};
use crate::driver::Shell;
use crate::http::{self, Ask, Pages, Surface};
use crate::peer;
use anyhow::Context as _;
use bytes::{Buf, Bytes, BytesMut};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, UnixListener};

/// Connections at once; more are closed as they come. Reliability SE-7.
const CONNECTIONS_MAX: usize = 10_000;
/// Connections that wait in the kernel.
const BACKLOG: i32 = 4_096;
/// Go's default for accepted connections.
const TCP_KEEPALIVE: Duration = Duration::from_secs(15);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A bound listener.
pub enum Listener {
    /// Of `http://`.
    Tcp(TcpListener),
    /// Of `unix://`.
    Unix(UnixListener),
}

/// What a listener serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serves {
    /// gRPC and HTTP/1.
    Both,
    /// gRPC alone: HTTP/1 has a listener of its own.
    Grpc,
    /// HTTP/1 alone.
    Http,
    /// Health and metrics.
    Metrics,
    /// What other members and tools ask of the peer port.
    Peer,
}

/// Binds every socket that a URL names.
pub fn bind(url: &Url, config: &Config) -> anyhow::Result<Vec<Listener>> {
    if url.scheme == Scheme::Unix {
        // A socket file that a dead process left behind.
        let _ = std::fs::remove_file(&url.address);
        let listener = UnixListener::bind(&url.address)
            .with_context(|| format!("listen unix {}: bind", url.address))?;
        return Ok(vec![Listener::Unix(listener)]);
    }
    let (host, port) = url.host_port().context("a listen URL has a port")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = resolve(host, port).with_context(|| format!("listen tcp {host}:{port}"))?;
    let mut listeners = Vec::new();
    for address in addresses {
        let listener =
            bind_tcp(address, config).with_context(|| format!("listen tcp {address}: bind"))?;
        listeners.push(Listener::Tcp(listener));
    }
    Ok(listeners)
}

/// One address per host, as Go's listener: IPv4 first.
fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let host = if host.is_empty() { "0.0.0.0" } else { host };
    let mut found: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.truncate(1);
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such host"));
    }
    Ok(found)
}

fn bind_tcp(address: SocketAddr, config: &Config) -> anyhow::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // As Go's listener always does: the port of a server that just ended can be taken again.
    socket.set_reuse_address(true)?;
    if config.reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into())?)
}

/// Counts connections over all listeners.
#[derive(Clone, Default)]
pub struct Connections(Rc<Cell<usize>>);

/// One connection that counts until it is dropped.
struct Counted(Connections);

impl Connections {
    /// As if so many were open that only this many more fit.
    #[cfg(test)]
    pub(super) fn with_room_for(count: usize) -> Connections {
        Connections(Rc::new(Cell::new(CONNECTIONS_MAX - count)))
    }

    fn enter(&self) -> Option<Counted> {
        if CONNECTIONS_MAX <= self.0.get() {
            return None;
        }
        self.0.set(self.0.get() + 1);
        Some(Counted(self.clone()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let count = &self.0.0;
        count.set(count.get() - 1);
    }
}

/// Accepts connections for ever, each with a task of its own.
pub async fn accept<A: Ask + 'static>(
    listener: Listener,
    serves: Serves,
    shell: Rc<Shell>,
    pages: Rc<Pages<A>>,
    connections: Connections,
) {
    loop {
        let accepted = match &listener {
            Listener::Tcp(listener) => match listener.accept().await {
                Ok((stream, _)) => {
                    tune(&stream);
                    spawn(stream, serves, &shell, &pages, &connections);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Listener::Unix(listener) => match listener.accept().await {
                Ok((stream, _)) => {
                    spawn(stream, serves, &shell, &pages, &connections);
                    Ok(())
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = accepted {
            // Out of files, or the client was gone already: let others end first.
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn tune(stream: &tokio::net::TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(TCP_KEEPALIVE).with_interval(TCP_KEEPALIVE);
    // Neither is needed to serve; a socket that refuses them is about to fail by itself.
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

fn spawn<S, A>(
    stream: S,
    serves: Serves,
    shell: &Rc<Shell>,
    pages: &Rc<Pages<A>>,
    connections: &Connections,
) where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    A: Ask + 'static,
{
    let Some(counted) = connections.enter() else { return };
    let (shell, pages) = (Rc::clone(shell), Rc::clone(pages));
    tokio::task::spawn_local(async move {
        serve(stream, serves, shell, pages).await;
        drop(counted);
    });
}

async fn serve<S, A>(mut stream: S, serves: Serves, shell: Rc<Shell>, pages: Rc<Pages<A>>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    A: Ask + 'static,
{
    if serves == Serves::Metrics {
        return http::serve(stream, pages, Surface::Metrics).await;
    }
    let sniffed = tokio::time::timeout(HANDSHAKE_MAX, sniff(&mut stream)).await;
    let Ok(Ok((is_http2, first))) = sniffed else { return };
    match (is_http2, serves) {
        (true, Serves::Both | Serves::Grpc) => {
            connection::serve(stream, first, shell).await;
        }
        (false, Serves::Both | Serves::Http) => {
            http::serve(Rewound { first, stream }, pages, Surface::Client).await;
        }
        (true, Serves::Peer) => {
            let local = shell.local();
            peer::inbound::serve(Rewound { first, stream }, shell, local).await;
        }
        (false, Serves::Peer) => {
            http::serve(Rewound { first, stream }, pages, Surface::Peer).await;
        }
        _ => {}
    }
}

/// Reads until it is clear whether the client speaks HTTP/2.
async fn sniff<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<(bool, Bytes)> {
    let mut first = BytesMut::with_capacity(4096);
    loop {
        if stream.read_buf(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let known = first.len().min(PREFACE.len());
        if first[..known] != PREFACE[..known] {
            return Ok((false, first.freeze()));
        }
        if known == PREFACE.len() {
            return Ok((true, first.freeze()));
        }
    }
}

/// A stream whose first bytes were read already.
struct Rewound<S> {
    first: Bytes,
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = self.first.len().min(buf.remaining());
        buf.put_slice(&self.first[..count]);
        self.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
