//! Segments: their names, their headers, and new files for them.
//!
//! A segment is named only when its header is durable, so a bad header is never a crash's doing.

use crate::frame::{BLOCK, Salt, u32_at, u64_at};
use crate::tail::Tail;
use crate::{HardState, Identity, Position};
use bytes::Bytes;
use types::limits::WAL_MEMBERSHIP_BYTES_MAX;
use types::{ClusterId, Index, MemberId, Term};

/// First bytes of a segment; the last one is the version of the format.
const MAGIC: [u8; 8] = *b"MSTYWAL1";
/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 4096;
/// Where the CRC of the header begins to count.
const BODY: usize = 12;
/// Where the member list lies.
const MEMBERSHIP: usize = 152;

/// Larger sequence numbers, indices and the like are never reached, so that the next one is a
/// number too.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;

const _: () = assert!(MEMBERSHIP + WAL_MEMBERSHIP_BYTES_MAX <= HEADER_BYTES);

/// The first block of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    /// Random number of this use of the file.
    pub(crate) salt: u64,
    /// Segments are numbered without gaps.
    pub(crate) sequence: u64,
    /// Length of the segment.
    pub(crate) size: u64,
    pub(crate) identity: Identity,
    /// The log before this segment.
    pub(crate) tail: Tail,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let tail = &self.tail;
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&tail.chain.to_le_bytes());
        let state = &tail.hard_state;
        let numbers = [
            self.salt,
            self.sequence,
            self.size,
            self.identity.cluster.0,
            self.identity.member.0,
            tail.batch,
            state.term.0,
            state.vote.0,
            state.commit.0,
            tail.last.index.0,
            tail.last.term.0,
            tail.boot,
            tail.trimmed.0,
            tail.install.index.0,
            tail.install.term.0,
        ];
        for number in numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let len = u64::try_from(tail.membership.len()).expect("bounded by the tail");
        out.extend_from_slice(&len.to_le_bytes());
        assert!(out.len() + 8 == MEMBERSHIP, "fields end at {}", out.len());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&tail.membership);
        assert!(out.len() <= HEADER_BYTES, "a header of {} bytes", out.len());
        out.resize(HEADER_BYTES, 0);
        let crc = crc32c::crc32c(&out[BODY..]);
        out[8..BODY].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads a header, or says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<SegmentHeader, &'static str> {
        let Some(block) = bytes.get(..HEADER_BYTES) else {
            return Err("the segment is shorter than its header");
        };
        if block[..7] != MAGIC[..7] {
            return Err("this is not a segment of a log");
        }
        if u32_at(block, 8) != Some(crc32c::crc32c(&block[BODY..])) {
            return Err("the checksum of the segment's header is wrong");
        }
        if block[7] != MAGIC[7] {
            return Err("the segment is of another version of the format");
        }
        let number = |ordinal: usize| u64_at(block, 16 + 8 * ordinal).unwrap_or_default();
        let len = usize::try_from(number(15)).unwrap_or(usize::MAX);
        let Some(membership) = block[MEMBERSHIP..].get(..len) else {
            return Err("the member list is longer than the header");
        };
        let position = |at| Position { index: Index(number(at)), term: Term(number(at + 1)) };
        let tail = Tail {
            batch: number(5),
            chain: u32_at(block, BODY).unwrap_or_default(),
            hard_state: HardState {
                term: Term(number(6)),
                vote: MemberId(number(7)),
                commit: Index(number(8)),
            },
            membership: Bytes::copy_from_slice(membership),
            last: position(9),
            boot: number(11),
            trimmed: Index(number(12)),
            install: position(13),
        };
        let identity = Identity { cluster: ClusterId(number(3)), member: MemberId(number(4)) };
        let header =
            SegmentHeader { salt: number(0), sequence: number(1), size: number(2), identity, tail };
        let tail = &header.tail;
        let state = &tail.hard_state;
        let counters = [header.sequence, tail.batch, tail.last.index.0, tail.boot];
        if counters.iter().any(|counter| NUMBER_MAX < *counter) {
            return Err("a number in the header is larger than any that is written");
        }
        if tail.last.index < state.commit || state.commit < tail.trimmed.max(tail.install.index) {
            return Err("the header contradicts itself");
        }
        if header.size < 2 * BLOCK || !header.size.is_multiple_of(BLOCK) {
            return Err("the segment's length is not one that is written");
        }
        Ok(header)
    }

    /// The salt of this segment's frames.
    pub(crate) fn salt(&self) -> Salt {
        Salt::new(self.salt)
    }

    /// The chain value before this segment's first frame: it binds what the header says.
    pub(crate) fn first_chain(&self) -> u32 {
        crc32c::crc32c_append(self.tail.chain, &self.encode()[BODY..])
    }
}

/// The salt of a segment: differs for each sequence number and each start.
pub(crate) fn salt(seed: u64, sequence: u64) -> u64 {
    let mut z = seed.wrapping_add(sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Makes magic and checksum of a header right: for fuzzing.
pub(crate) fn reseal(file: &mut [u8]) {
    file[..8].copy_from_slice(&MAGIC);
    let crc = crc32c::crc32c(&file[BODY..HEADER_BYTES]);
    file[8..BODY].copy_from_slice(&crc.to_le_bytes());
}

/// Name of a segment in its folder.
pub(crate) fn name(sequence: u64) -> String {
    format!("{sequence:016x}.wal")
}

/// The sequence number in a segment's name.
pub(crate) fn parse_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".wal")?;
    let lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != 16 || !lower {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Name of an unused segment in its folder.
pub(crate) fn spare_name(number: u64) -> String {
    format!("spare-{number:016x}")
}

/// The number in an unused segment's name.
pub(crate) fn parse_spare(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("spare-")?, 16).ok()
}

/// A path below the log's folder.
pub(crate) fn path(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests;
