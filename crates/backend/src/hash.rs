//! HashKV: the checksum over the keyspace at a revision, equal to etcd's for the same history.
//!
//! etcd (server/storage/mvcc/hash.go, v3.7.1) takes CRC-32C over the bucket name `key` and then,
//! for each kept record in revision order, its bucket key and the encoded KeyValue. Kept are the
//! records up to the revision asked for; of those at or below the compacted revision only the
//! one of each key that is visible at the revision asked for (`Keep(rev)`, not at the compacted
//! one). If no key at all is visible there, etcd skips nothing, so what compaction leaves counts.
//!
//! The hash that etcd makes while it compacts (`store.scheduleCompaction`) differs in one corner:
//! the compaction keeps a delete marker at its revision, so that something is kept although no key
//! is visible, and what lies at or below the compacted revision before it is skipped.

use crate::error::{Error, Result};
use crate::reader::Reader;
use crate::scan::RecordRef;
use crc32c::{crc32c, crc32c_append};
use sha2::{Digest, Sha256};

/// Records whose keys are compared in one pass: bounds the memory to about 12 MiB.
const RECORDS_PER_PASS: u64 = 512 * 1024;

/// Records between two calls of `rest`: some milliseconds.
const RECORDS_PER_REST: u64 = 4 * 1024;

/// The key's fingerprint, the number of the record at or below the revision, and if it is a
/// delete marker.
type Seen = (u128, u64, bool);

/// One bit for each record, in revision order.
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, at: u64) {
        let word = usize::try_from(at / 64).expect("a record count fits the address space");
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (at % 64);
    }

    fn has(&self, at: u64) -> bool {
        let word = usize::try_from(at / 64).expect("a record count fits the address space");
        self.0.get(word).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Reader {
    /// etcd's HashKV over the records up to main revision `revision`, with `compacted` as the
    /// compacted revision (-1 if there never was one). The caller checked their order.
    pub fn hash_kv(&self, revision: i64, compacted: i64) -> Result<u32> {
        self.hash_kv_paced(revision, compacted, &mut || {})
    }

    /// As [`Reader::hash_kv`]; `rest` is called every few thousand records, so that a hash that
    /// nobody waits for can leave the processor to others.
    pub fn hash_kv_paced(
        &self,
        revision: i64,
        compacted: i64,
        rest: &mut dyn FnMut(),
    ) -> Result<u32> {
        let mut visible = Bits(Vec::new());
        if 0 <= compacted {
            visible = self.visible(revision, rest)?;
            if visible.is_empty() {
                visible = self.visible(compacted, rest)?;
            }
        }
        self.hash(revision, compacted, &visible, rest)
    }

    /// The hash that etcd makes in a compaction at `revision`, with the one before at `compacted`
    /// (-1 if there was none); it answers HashKV at that revision with it.
    pub fn hash_compaction(
        &self,
        revision: i64,
        compacted: i64,
        rest: &mut dyn FnMut(),
    ) -> Result<u32> {
        let mut visible = Bits(Vec::new());
        if 0 <= compacted {
            visible = self.visible(revision, rest)?;
            if visible.is_empty() && !self.ends_at(revision, rest)? {
                visible = self.visible(compacted, rest)?;
            }
        }
        self.hash(revision, compacted, &visible, rest)
    }

    /// True if there is a delete marker of this main revision.
    fn ends_at(&self, revision: i64, rest: &mut dyn FnMut()) -> Result<bool> {
        let mut found = false;
        self.each(revision, rest, |_, record| {
            found |= record.tombstone && record.revision.main == revision;
            Ok(())
        })?;
        Ok(found)
    }

    /// Records at or below the compacted revision count if they are among the visible ones.
    fn hash(
        &self,
        revision: i64,
        compacted: i64,
        visible: &Bits,
        rest: &mut dyn FnMut(),
    ) -> Result<u32> {
        let mut hash = crc32c(b"key");
        self.each(revision, rest, |number, record| {
            let main = record.revision.main;
            let superseded = main <= compacted && !visible.has(number);
            // Members before 3.5.16 removed a delete marker at the compacted revision.
            let removed_by_some = main == compacted && record.tombstone;
            if !(superseded || removed_by_some) {
                hash = add(hash, &record);
            }
            Ok(())
        })?;
        Ok(hash)
    }

    /// A checksum over every record, for tests.
    pub fn hash_all(&self) -> Result<u32> {
        let mut hash = crc32c(b"key");
        self.each(i64::MAX, &mut || {}, |_, record| {
            hash = add(hash, &record);
            Ok(())
        })?;
        Ok(hash)
    }

    /// Which records are visible at a main revision: the newest of each key that is no delete
    /// marker. Empty if there are none.
    fn visible(&self, revision: i64, rest: &mut dyn FnMut()) -> Result<Bits> {
        let records: u64 = self.segments().iter().map(|segment| segment.total.records).sum();
        let passes = u128::from(records.div_ceil(RECORDS_PER_PASS).max(1));
        let mut bits = Bits(Vec::new());
        for pass in 0..passes {
            let mut seen: Vec<Seen> = Vec::new();
            self.each(revision, rest, |number, record| {
                let key = key_of(record.kv).ok_or_else(|| {
                    Error::Refused(format!("record {} holds no key", record.revision))
                })?;
                let print = fingerprint(key);
                // etcd looks for a key's life that had not ended before `revision`, and so finds
                // the one that ended in it, also where its last transaction began another.
                let ends = record.tombstone && record.revision.main == revision;
                if print % passes == pass {
                    let number = if ends { u64::MAX } else { number };
                    seen.push((print, number, record.tombstone));
                }
                Ok(())
            })?;
            seen.sort_unstable();
            for (at, (print, number, tombstone)) in seen.iter().enumerate() {
                let newest = seen.get(at + 1).is_none_or(|next| next.0 != *print);
                if newest && !tombstone {
                    bits.set(*number);
                }
            }
        }
        Ok(bits)
    }

    /// Calls `visit` with each record up to a main revision and its number.
    fn each(
        &self,
        revision: i64,
        rest: &mut dyn FnMut(),
        mut visit: impl FnMut(u64, RecordRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut scan = self.scan_all();
        let mut number = 0;
        while let Some(record) = scan.next_record()? {
            if revision < record.revision.main {
                break;
            }
            visit(number, record)?;
            number += 1;
            if number.is_multiple_of(RECORDS_PER_REST) {
                rest();
            }
        }
        Ok(())
    }
}

/// 128 bits of SHA-256: no client finds two keys with the same.
fn fingerprint(key: &[u8]) -> u128 {
    let digest = Sha256::digest(key);
    u128::from_le_bytes(digest[..16].try_into().expect("a digest has 32 bytes"))
}

/// Adds a record as etcd's bucket holds it.
fn add(hash: u32, record: &RecordRef<'_>) -> u32 {
    let mut name = [0; 18];
    name[..8].copy_from_slice(&record.revision.main.to_be_bytes());
    name[8] = b'_';
    name[9..17].copy_from_slice(&record.revision.sub.to_be_bytes());
    name[17] = b't';
    let len = if record.tombstone { 18 } else { 17 };
    crc32c_append(crc32c_append(hash, &name[..len]), record.kv)
}

/// The field `key` of an encoded KeyValue.
pub(crate) fn key_of(kv: &[u8]) -> Option<&[u8]> {
    let mut rest = kv;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match tag & 7 {
            0 => {
                varint(&mut rest)?;
            }
            2 => {
                let len = usize::try_from(varint(&mut rest)?).ok()?;
                let (field, tail) = rest.split_at_checked(len)?;
                if tag >> 3 == 1 {
                    return Some(field);
                }
                rest = tail;
            }
            _ => return None,
        }
    }
    None
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
