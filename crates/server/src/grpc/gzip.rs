//! gzip (RFC 1952) for the messages of clients that compress; refusals have the words of Go's
//! `compress/gzip`, which etcd links.

use super::frame::{self, PREFIX_LEN};
use super::status::{Code, Status};
use bytes::{Bytes, BytesMut};
use flate2::write::GzEncoder;
use flate2::{Compression, Crc, Decompress, FlushDecompress, Status as Progress};
use std::io::Write;

/// What a `Packer` holds beside the packed bytes while a message is in it.
pub(super) const PACKER_BYTES: usize = 320 * 1024;

const UNEXPECTED_EOF: &str = "unexpected EOF";
const INVALID_HEADER: &str = "gzip: invalid header";
const INVALID_CHECKSUM: &str = "gzip: invalid checksum";

/// Unpacks a message of at most `bytes_max` bytes. One that would become larger is given up at the
/// first byte beyond, so that memory is bounded however well it was packed.
pub(super) fn unpack(packed: &[u8], bytes_max: usize) -> Result<Bytes, Status> {
    let mut rest = packed;
    let text = |what: &str, why: &str| Status::new(Code::Internal, format!("grpc: {what}: {why}"));
    Header::skip(&mut rest).map_err(|why| text("failed to decompress the message", why))?;
    let mut out = BytesMut::new();
    let mut inflate = Decompress::new(false);
    loop {
        unpack_member(&mut inflate, &mut rest, bytes_max, &mut out)
            .map_err(|why| text("failed to read decompressed data", &why))?;
        if bytes_max < out.len() {
            let message =
                format!("grpc: received message after decompression larger than max {bytes_max}");
            return Err(Status::new(Code::ResourceExhausted, message));
        }
        if rest.is_empty() {
            return Ok(out.freeze());
        }
        Header::skip(&mut rest).map_err(|why| text("failed to read decompressed data", why))?;
        inflate.reset(false);
    }
}

/// Inflates what follows a header and checks its trailer; stops with one byte more than
/// `bytes_max` in `out`.
fn unpack_member(
    inflate: &mut Decompress,
    rest: &mut &[u8],
    bytes_max: usize,
    out: &mut BytesMut,
) -> Result<(), String> {
    const STEP_BYTES: usize = 16 * 1024;
    let begin = out.len();
    let mut step = [0; STEP_BYTES];
    loop {
        let taken = inflate.total_in();
        let room = (bytes_max + 1 - out.len()).min(STEP_BYTES);
        let filled = inflate.total_out();
        let progress = inflate
            .decompress(rest, &mut step[..room], FlushDecompress::None)
            .map_err(|_| format!("flate: corrupt input before offset {}", inflate.total_in()))?;
        let filled = inflate.total_out() - filled;
        out.extend_from_slice(&step[..usize::try_from(filled).unwrap_or(room)]);
        let taken = inflate.total_in() - taken;
        *rest = &rest[usize::try_from(taken).unwrap_or(rest.len())..];
        if bytes_max < out.len() {
            return Ok(());
        }
        match progress {
            Progress::StreamEnd => break,
            _ if taken == 0 && filled == 0 => return Err(UNEXPECTED_EOF.to_string()),
            _ => {}
        }
    }
    let mut crc = Crc::new();
    crc.update(&out[begin..]);
    let [sum, size] = [take_u32(rest)?, take_u32(rest)?];
    if sum == crc.sum() && size == crc.amount() {
        Ok(())
    } else {
        Err(INVALID_CHECKSUM.to_string())
    }
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, &'static str> {
    let (bytes, after) = rest.split_first_chunk().ok_or(UNEXPECTED_EOF)?;
    *rest = after;
    Ok(u32::from_le_bytes(*bytes))
}

/// The header of a gzip member.
struct Header<'a> {
    rest: &'a [u8],
    crc: Crc,
}

impl<'a> Header<'a> {
    const LEN: usize = 10;
    const HAS_CRC: u8 = 2;
    const HAS_EXTRA: u8 = 4;
    const HAS_NAME: u8 = 8;
    const HAS_COMMENT: u8 = 16;
    /// Longest name or comment with its end, as in Go.
    const TEXT_BYTES_MAX: usize = 512;

    fn skip(packed: &mut &'a [u8]) -> Result<(), &'static str> {
        if packed.is_empty() {
            return Err("EOF");
        }
        let mut header = Header { rest: packed, crc: Crc::new() };
        let fixed = header.take(Header::LEN)?;
        if !fixed.starts_with(&[0x1f, 0x8b, 8]) {
            return Err(INVALID_HEADER);
        }
        let flags = fixed[3];
        if flags & Header::HAS_EXTRA != 0 {
            let len = header.take(2)?;
            header.take(usize::from(u16::from_le_bytes([len[0], len[1]])))?;
        }
        if flags & Header::HAS_NAME != 0 {
            header.take_text()?;
        }
        if flags & Header::HAS_COMMENT != 0 {
            header.take_text()?;
        }
        if flags & Header::HAS_CRC != 0 {
            let [low, high, ..] = header.crc.sum().to_le_bytes();
            if header.take(2)? != [low, high] {
                return Err(INVALID_HEADER);
            }
        }
        *packed = header.rest;
        Ok(())
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(UNEXPECTED_EOF)?;
        self.crc.update(taken);
        self.rest = rest;
        Ok(taken)
    }

    /// A text that ends with a zero byte.
    fn take_text(&mut self) -> Result<(), &'static str> {
        let window = &self.rest[..self.rest.len().min(Header::TEXT_BYTES_MAX)];
        match window.iter().position(|byte| *byte == 0) {
            Some(at) => self.take(at + 1).map(drop),
            None if window.len() == Header::TEXT_BYTES_MAX => Err(INVALID_HEADER),
            None => Err(UNEXPECTED_EOF),
        }
    }
}

/// Packs framed messages that come in pieces. An empty message stays as it is, as in grpc-go.
#[derive(Debug, Default)]
pub(super) struct Packer {
    /// The prefix of the next message, as far as it has come.
    prefix: Vec<u8>,
    /// The message that is being packed.
    open: Option<Open>,
    packed: BytesMut,
}

#[derive(Debug)]
struct Open {
    encoder: GzEncoder<Vec<u8>>,
    /// Bytes of the message still to come.
    left: usize,
}

impl Packer {
    /// Takes a piece of framed messages.
    pub(super) fn push(&mut self, mut piece: &[u8]) {
        const GROWS: &str = "a vector grows as needed";
        while !piece.is_empty() {
            let Some(open) = &mut self.open else {
                piece = self.push_prefix(piece);
                continue;
            };
            let (head, tail) = piece.split_at(piece.len().min(open.left));
            open.encoder.write_all(head).expect(GROWS);
            open.left -= head.len();
            piece = tail;
            if 0 < open.left {
                return;
            }
            let Some(open) = self.open.take() else { return };
            let message = open.encoder.finish().expect(GROWS);
            let mut prefix = frame::prefix(message.len());
            prefix[0] = 1;
            self.packed.extend_from_slice(&prefix);
            self.packed.extend_from_slice(&message);
        }
    }

    /// Takes what `piece` has of a prefix; the rest of it.
    fn push_prefix<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let (head, rest) = piece.split_at(piece.len().min(PREFIX_LEN - self.prefix.len()));
        self.prefix.extend_from_slice(head);
        let Some([_, len @ ..]) = self.prefix.first_chunk::<PREFIX_LEN>() else { return rest };
        match u32::from_be_bytes(*len) as usize {
            0 => self.packed.extend_from_slice(&self.prefix),
            left => {
                let encoder = GzEncoder::new(Vec::new(), Compression::fast());
                self.open = Some(Open { encoder, left });
            }
        }
        self.prefix.clear();
        rest
    }

    /// All messages that came whole since the last time, packed and framed.
    pub(super) fn take(&mut self) -> Bytes {
        self.packed.split().freeze()
    }
}

#[cfg(test)]
mod tests;
