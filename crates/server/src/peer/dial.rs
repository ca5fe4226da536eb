//! From a peer URL to a socket.

use super::{CONNECT_MAX, SILENCE_MAX};
use crate::config::url::Url;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// Dials the URLs in turn, and every address of each name; the last error if none answers.
pub(super) async fn dial(urls: &[Url]) -> Result<(TcpStream, String), (String, io::Error)> {
    let mut last = (String::new(), io::Error::from(io::ErrorKind::AddrNotAvailable));
    for url in urls {
        match timeout(CONNECT_MAX, dial_one(url)).await {
            Ok(Ok(socket)) => return Ok((socket, url.address.clone())),
            Ok(Err(error)) => last = (url.to_string(), error),
            Err(_) => last = (url.to_string(), io::ErrorKind::TimedOut.into()),
        }
    }
    Err(last)
}

async fn dial_one(url: &Url) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in lookup_host(&url.address).await? {
        match TcpStream::connect(address).await {
            Ok(socket) => {
                tune(&socket)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A peer that went away without a word is noticed by the kernel, too.
fn tune(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(SILENCE_MAX).with_interval(SILENCE_MAX);
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(SILENCE_MAX))
}
