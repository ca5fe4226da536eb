//! What travels: the head of a lane's request, and the frames of its body.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request};
use types::{ClusterId, MemberId};

/// Bytes of the checksum in front of a message: TCP's own is too weak for a log.
const CRC_BYTES: usize = 4;
/// Bytes in front of a frame: {0, length}, as gRPC's.
const PREFIX_BYTES: usize = crate::grpc::frame::PREFIX_LEN;
const CLUSTER: &str = "x-etcd-cluster-id";
const FROM: &str = "x-server-from";
const TO: &str = "x-raft-to";
const VERSION: &str = "x-server-version";

/// A connection of its own for messages of one kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// Small and urgent: heartbeats, votes, read indexes, and their answers.
    Heartbeats,
    /// Entries and forwarded proposals.
    Appends,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Lane; 2] = [Lane::Heartbeats, Lane::Appends];

    /// The lane's path on the peer port.
    pub fn path(self) -> &'static str {
        match self {
            Lane::Heartbeats => "/mainstay.Peer/Heartbeats",
            Lane::Appends => "/mainstay.Peer/Appends",
        }
    }

    /// The lane of a path.
    pub fn parse(path: &str) -> Option<Lane> {
        Lane::ALL.into_iter().find(|lane| lane.path() == path)
    }
}

/// Who this member is.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its cluster.
    pub cluster: ClusterId,
    /// Itself.
    pub member: MemberId,
    /// Its version.
    pub version: &'static str,
}

/// Why the head of a lane's request is refused: an HTTP status and etcd's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refused {
    /// HTTP status.
    pub status: u16,
    /// What the body says.
    pub text: &'static str,
}

/// HTTP status that tells a member that it was removed.
pub(super) const GONE: u16 = 410;

/// Head of the request of a lane.
pub(super) fn request(
    local: &Local,
    to: MemberId,
    lane: Lane,
    authority: &str,
) -> http::Result<Request<()>> {
    Request::builder()
        .method("POST")
        .uri(format!("http://{authority}{}", lane.path()))
        .header(CLUSTER, hex(local.cluster.0))
        .header(FROM, hex(local.member.0))
        .header(TO, hex(to.0))
        .header(VERSION, HeaderValue::from_static(local.version))
        .body(())
}

/// Checks the head of a lane's request; gives the sender.
pub(super) fn sender(local: &Local, headers: &HeaderMap) -> Result<MemberId, Refused> {
    let refused = |text| Refused { status: 412, text };
    let id = |name: &str| {
        let text = headers.get(name).and_then(|value| value.to_str().ok())?;
        u64::from_str_radix(text, 16).ok()
    };
    if id(CLUSTER) != Some(local.cluster.0) {
        return Err(refused("cluster ID mismatch"));
    }
    if id(TO) != Some(local.member.0) {
        return Err(refused("member ID mismatch"));
    }
    let ours = local.version.split('.').next();
    let version = headers.get(VERSION).and_then(|value| value.to_str().ok());
    if version.and_then(|version| version.split('.').next()) != ours {
        return Err(refused("incompatible version"));
    }
    match id(FROM) {
        Some(from) if from != local.member.0 => Ok(MemberId(from)),
        _ => Err(refused("bad sender ID")),
    }
}

fn hex(id: u64) -> String {
    format!("{id:x}")
}

/// Appends a message as a frame.
pub(super) fn seal(message: &[u8], out: &mut BytesMut) {
    out.reserve(PREFIX_BYTES + CRC_BYTES + message.len());
    out.put_u8(0);
    // Messages are far below 4 GiB; a longer one would be refused by its checksum.
    out.put_u32(u32::try_from(CRC_BYTES + message.len()).unwrap_or(u32::MAX));
    out.put_u32(crc32c::crc32c(message));
    out.put_slice(message);
}

/// The message in a frame; `None` if it was damaged on its way.
pub(super) fn open(mut frame: Bytes) -> Option<Bytes> {
    let crc = *frame.first_chunk::<CRC_BYTES>()?;
    frame.advance(CRC_BYTES);
    (u32::from_be_bytes(crc) == crc32c::crc32c(&frame)).then_some(frame)
}
