//! The 5-byte frames in which gRPC messages travel: {compressed flag, length, message}.

use super::gzip;
use super::status::{Code, Status};
use bytes::{Buf, Bytes, BytesMut};

/// Bytes in front of each message.
pub const PREFIX_LEN: usize = 5;

/// How the messages of a call may be compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
    /// A message whose flag is 1 is gzip.
    Gzip,
}

/// Cuts a stream of DATA chunks into messages. Memory is bounded by the largest message allowed
/// plus one chunk, because a message that is too large is refused by its prefix, and one that
/// would unpack to more as soon as it does.
#[derive(Debug, Default)]
pub struct FrameReader {
    encoding: Encoding,
    held: Held,
}

/// What has arrived and was not taken. One chunk is kept as it came, without a copy.
#[derive(Debug, Default)]
enum Held {
    #[default]
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl Held {
    fn bytes(&self) -> &[u8] {
        match self {
            Held::Nothing => &[],
            Held::One(chunk) => chunk,
            Held::Many(buf) => buf,
        }
    }
}

impl FrameReader {
    /// A reader of messages that may be compressed this way.
    pub fn new(encoding: Encoding) -> FrameReader {
        FrameReader { encoding, held: Held::Nothing }
    }

    /// Takes a chunk of the body.
    pub fn push(&mut self, chunk: Bytes) {
        if chunk.is_empty() {
            return;
        }
        self.held = match std::mem::take(&mut self.held) {
            Held::Nothing => Held::One(chunk),
            Held::One(first) if first.is_empty() => Held::One(chunk),
            Held::One(first) => {
                let mut buf = BytesMut::with_capacity(first.len() + chunk.len());
                buf.extend_from_slice(&first);
                buf.extend_from_slice(&chunk);
                Held::Many(buf)
            }
            Held::Many(mut buf) => {
                buf.extend_from_slice(&chunk);
                Held::Many(buf)
            }
        };
    }

    /// Bytes that wait for the rest of their message.
    pub fn held_bytes(&self) -> usize {
        self.held.bytes().len()
    }

    /// The next whole message, `None` if more must arrive first.
    pub fn next(&mut self, bytes_max: usize) -> Result<Option<Bytes>, Status> {
        let held = self.held.bytes();
        let Some(prefix) = held.first_chunk::<PREFIX_LEN>() else {
            return Ok(None);
        };
        let [flag, a, b, c, d] = *prefix;
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        match flag {
            0 => {}
            1 if self.encoding == Encoding::Gzip => {}
            1 => {
                return Err(Status::new(
                    Code::Internal,
                    "grpc: compressed flag set with identity or empty encoding",
                ));
            }
            other => {
                return Err(Status::new(
                    Code::Internal,
                    format!("grpc: received unexpected payload format {other}"),
                ));
            }
        }
        if bytes_max < len {
            return Err(Status::new(
                Code::ResourceExhausted,
                format!("grpc: received message larger than max ({len} vs. {bytes_max})"),
            ));
        }
        if held.len() < PREFIX_LEN + len {
            return Ok(None);
        }
        let message = match &mut self.held {
            Held::Nothing => Bytes::new(),
            Held::One(chunk) => {
                chunk.advance(PREFIX_LEN);
                chunk.split_to(len)
            }
            Held::Many(buf) => {
                buf.advance(PREFIX_LEN);
                buf.split_to(len).freeze()
            }
        };
        if self.held.bytes().is_empty() {
            self.held = Held::Nothing;
        }
        match flag {
            0 => Ok(Some(message)),
            _ => gzip::unpack(&message, bytes_max).map(Some),
        }
    }
}

/// The prefix of a message of `len` bytes, uncompressed.
pub fn prefix(len: usize) -> [u8; PREFIX_LEN] {
    let len = u32::try_from(len).expect("answers are cut below 4 GiB");
    let [a, b, c, d] = len.to_be_bytes();
    [0, a, b, c, d]
}

/// A whole message with its prefix.
pub fn framed(message: &impl prost::Message) -> Bytes {
    let len = message.encoded_len();
    let mut buf = BytesMut::with_capacity(PREFIX_LEN + len);
    buf.extend_from_slice(&prefix(len));
    message.encode(&mut buf).expect("BytesMut grows as needed");
    buf.freeze()
}

/// Entry for fuzzing: any bytes, cut anywhere, never panic.
pub fn fuzz(data: &[u8]) {
    fuzz_encoded(data, Encoding::Identity);
    fuzz_encoded(data, Encoding::Gzip);
}

fn fuzz_encoded(data: &[u8], encoding: Encoding) {
    let (cuts, body) = data.split_at(data.len().min(4));
    let mut reader = FrameReader::new(encoding);
    let mut rest = body;
    for cut in cuts {
        let (head, tail) = rest.split_at(rest.len().min(usize::from(*cut)));
        reader.push(Bytes::copy_from_slice(head));
        rest = tail;
        while let Ok(Some(_)) = reader.next(1024) {}
    }
    reader.push(Bytes::copy_from_slice(rest));
    while let Ok(Some(_)) = reader.next(1024) {}
}

#[cfg(test)]
mod tests;
