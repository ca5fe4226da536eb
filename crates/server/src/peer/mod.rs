//! Messages between members, on the peer port.
//!
//! ```text
//!  member A                                     member B
//!  Peers::send ──▶ Queue ──▶ outbound ══HTTP/2══▶ inbound ──▶ Hub::message ──▶ loop
//!                 (per lane)   (a connection per lane)
//! ```
//!
//! Each member dials each other member, once per [`Lane`]: streams of one TCP connection still block
//! each other, and a heartbeat must not wait behind a megabyte of entries. A lane is one long request
//! whose body is the sender's messages; the answer's body stays open and empty, and its end tells the
//! sender that nobody listens any more. Names are resolved at each dial.
//!
//! Architecture invariant: nothing here reads a message. A lane that is full drops what comes, a lane
//! that breaks drops what it holds: raft sends again.

mod dial;
pub mod inbound;
pub mod members;
mod outbound;
mod queue;
mod remotes;
mod wire;

#[cfg(test)]
mod tests;

pub use remotes::{Peers, Standing};
pub use wire::{Lane, Local};

use bytes::Bytes;
use std::task::{Context, Poll};
use std::time::Duration;
use types::MemberId;

/// What the peer port needs of the loop.
pub trait Hub {
    /// Another member's message arrived.
    fn message(&self, from: MemberId, message: Bytes);
    /// Ready while more messages may be given; a flood waits in the sender's socket.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()>;
    /// What this cluster knows of a member.
    fn standing(&self, member: MemberId) -> Standing;
    /// Messages to this member were dropped.
    fn unreachable(&self, member: MemberId);
    /// Another member says that this one was removed from the cluster.
    fn removed(&self);
    /// Something worth counting happened with a member.
    fn count(&self, member: MemberId, what: Counted);
}

/// What is counted of the traffic with a member.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Counted {
    /// Bytes of messages sent.
    Sent(usize),
    /// Messages that could not be sent.
    SendFailed,
    /// Bytes of messages received.
    Received(usize),
    /// A stream of messages broke.
    ReceiveFailed,
    /// A ping was answered after so long.
    RoundTrip(Duration),
    /// Its first lane is connected, or its last one no more.
    Active(bool),
}

/// Time for a connection to be made, and for each side of its handshake.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Between two pings of a connection; etcd's probing interval.
const PING_INTERVAL: Duration = Duration::from_secs(1);
/// A connection whose peer acknowledges nothing for so long is given up; etcd's read timeout.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Largest message: a request of the largest size that flags allow, with room around it.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
