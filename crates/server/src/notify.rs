//! Tells the service manager that clients are served, as `sd_notify(3)` does.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends `READY=1` to the socket that the environment names, if it names one.
pub(crate) fn ready() {
    let Ok(socket) = std::env::var("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket, b"READY=1") {
        tracing::error!(%error, "failed to notify systemd for readiness");
    }
}

fn send(socket: &str, state: &[u8]) -> io::Result<()> {
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receives(listener: &UnixDatagram, socket: &str) {
        send(socket, b"READY=1").unwrap();
        let mut bytes = [0; 32];
        let count = listener.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"READY=1");
    }

    #[test]
    fn the_state_reaches_a_socket_with_a_path_and_an_abstract_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        receives(&listener, path.to_str().unwrap());
        let name = format!("mainstay-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixDatagram::bind_addr(&address).unwrap();
        receives(&listener, &format!("@{name}"));
    }
}
