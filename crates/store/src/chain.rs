//! The chain of hashes over everything applied: equal at equal index on every member.

use crate::Error;
use bytes::Bytes;

/// Folds one entry and what it came to into the chain.
pub(crate) fn next(chain: u32, data: &Bytes, revision: i64, outcome: u8) -> u32 {
    let mut tail = [0; 13];
    tail[..4].copy_from_slice(&chain.to_be_bytes());
    tail[4..12].copy_from_slice(&revision.to_be_bytes());
    tail[12] = outcome;
    crc32c::crc32c_append(crc32c::crc32c(&tail), data)
}

/// Key of the chain's row in its table.
pub(crate) const KEY: &[u8] = b"chain";

/// The row's value.
pub(crate) fn encode(chain: u32) -> Bytes {
    Bytes::copy_from_slice(&chain.to_be_bytes())
}

/// Reads the row.
pub(crate) fn decode(value: &Bytes) -> Result<u32, Error> {
    let bytes = value.as_ref().try_into().map_err(|_| Error::Table("chain"))?;
    Ok(u32::from_be_bytes(bytes))
}
