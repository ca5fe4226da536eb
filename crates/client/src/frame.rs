//! gRPC's five-byte message frames: a flag for compression, then the length.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

use crate::status::{Code, Status};

/// Bytes before each message.
pub const PREFIX_BYTES: usize = 5;

/// One message, framed.
pub fn encode<M: Message>(message: &M) -> Bytes {
    let length = message.encoded_len();
    let mut out = BytesMut::with_capacity(PREFIX_BYTES + length);
    put_prefix(&mut out, length);
    message.encode(&mut out).expect("the buffer grows");
    out.freeze()
}

/// A message that is encoded already, framed.
pub fn encode_raw(message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    put_prefix(&mut out, message.len());
    out.extend_from_slice(message);
    out.freeze()
}

fn put_prefix(out: &mut BytesMut, length: usize) {
    out.put_u8(0);
    out.put_u32(u32::try_from(length).expect("a message is below 4 GiB"));
}

/// Cuts the messages out of a stream of data chunks.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What has arrived of messages that are not complete yet.
    pending: BytesMut,
}

impl Decoder {
    /// Adds the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.pending.extend_from_slice(chunk);
    }

    /// Whether a message was begun and not completed.
    pub fn is_partial(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes the next complete message, without its prefix.
    pub fn take(&mut self, bytes_max: usize) -> Result<Option<Bytes>, Status> {
        if self.pending.len() < PREFIX_BYTES {
            return Ok(None);
        }
        let length = check_prefix(&self.pending, bytes_max)?;
        if self.pending.len() < PREFIX_BYTES + length {
            self.pending.reserve(PREFIX_BYTES + length - self.pending.len());
            return Ok(None);
        }
        self.pending.advance(PREFIX_BYTES);
        Ok(Some(self.pending.split_to(length).freeze()))
    }
}

/// The message in `chunk` if that is exactly one frame: the usual unary answer, not copied.
pub fn whole(chunk: &Bytes, bytes_max: usize) -> Result<Option<Bytes>, Status> {
    if chunk.len() < PREFIX_BYTES {
        return Ok(None);
    }
    let length = check_prefix(chunk, bytes_max)?;
    Ok((chunk.len() == PREFIX_BYTES + length).then(|| chunk.slice(PREFIX_BYTES..)))
}

/// The length that a prefix announces.
fn check_prefix(prefix: &[u8], bytes_max: usize) -> Result<usize, Status> {
    if prefix[0] != 0 {
        return Err(Status::new(Code::INTERNAL, "grpc: compressed answer"));
    }
    let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > bytes_max {
        return Err(Status::new(
            Code::RESOURCE_EXHAUSTED,
            format!("grpc: received message larger than max ({length} vs. {bytes_max})"),
        ));
    }
    Ok(length)
}
