//! Entry points for fuzzing: they eat any bytes and must neither panic, hang nor take much memory.

use crate::frame::BLOCK_BYTES;
use crate::segment::{self, SegmentHeader};
use crate::{
    Batch, Entry, Error, Frame, HardState, Identity, Install, Position, Wal, WalConfig, frame,
};
use bytes::Bytes;
use std::sync::Arc;
use types::{ClusterId, Index, MemberId, Term};
use vfs::Disk;
use vfs::sim::SimDisk;

const DIR: &str = "wal";
const IDENTITY: Identity = Identity { cluster: ClusterId(3), member: MemberId(4) };
/// Edits of one input, at most: a fuzzer's inputs may be long.
const EDITS_MAX: usize = 64;

fn config() -> WalConfig {
    WalConfig { segment_bytes: 16 << 10, reserve: 0, ..WalConfig::new(5) }
}

fn entry(index: u64, term: u64) -> Entry {
    let data = Bytes::from(vec![0xa0; 100 + usize::try_from(index * 97 % 900).unwrap_or(0)]);
    Entry { index: Index(index), term: Term(term), data, ..Entry::default() }
}

/// A log of some segments with every kind of frame, and the entries that were ever written to it.
fn log(disk: &SimDisk) -> Vec<Entry> {
    let shared = Arc::new(disk.clone());
    let made = Wal::create(shared, DIR, config(), IDENTITY, Bytes::from_static(b"members"));
    let mut wal = made.expect("a new disk").0;
    let mut written = Vec::new();
    let mut put = |wal: &mut Wal, indices: std::ops::Range<u64>, term, commit| {
        let entries: Vec<Entry> = indices.map(|index| entry(index, term)).collect();
        written.extend(entries.iter().cloned());
        let mut frames: Vec<Frame> = entries.into_iter().map(Frame::Entry).collect();
        let (term, commit) = (Term(term), Index(commit));
        frames.push(Frame::HardState(HardState { term, vote: MemberId(4), commit }));
        wal.append(&Batch { frames }).expect("a good disk");
    };
    put(&mut wal, 1..4, 1, 0);
    put(&mut wal, 3..7, 2, 2);
    let position = Position { index: Index(20), term: Term(2) };
    let install = Install { position, data: Bytes::from_static(b"sha") };
    let state = HardState { term: Term(2), vote: MemberId(4), commit: Index(20) };
    let membership = Frame::Membership(Bytes::from_static(b"others"));
    let frames = vec![Frame::Install(install), Frame::HardState(state), membership];
    wal.append(&Batch { frames }).expect("a good disk");
    for at in 0..4 {
        put(&mut wal, 21 + 3 * at..24 + 3 * at, 3, 20 + 3 * at);
    }
    wal.seal().expect("a good disk");
    written
}

/// Makes a small log, edits its segments as `data` says, opens it twice and reads all of it. Four
/// bytes are one edit: {what, place (2), value}. Entries that come out were written, unless the
/// checksums were made right again after an edit; then only the rules of the log hold.
pub fn wal_segment(data: &[u8]) {
    let disk = SimDisk::new();
    let written = log(&disk);
    let mut names = disk.list(DIR).expect("the folder was made");
    names.retain(|name| segment::parse_name(name).is_some());
    let mut forged = false;
    for edit in data.chunks_exact(4).take(EDITS_MAX) {
        let name = &names[usize::from(edit[0] >> 3) % names.len()];
        let place = usize::from(u16::from_le_bytes([edit[1], edit[2]]));
        forged |= edit[0] & 7 == 7;
        disk.rot(&format!("{DIR}/{name}"), |file| change(file, edit[0] & 7, place, edit[3]));
    }
    let Ok((wal, recovered)) = Wal::open(Arc::new(disk.clone()), DIR, config(), None) else {
        return;
    };
    let mut next = recovered.base.index.next();
    for entry in &recovered.entries {
        assert!(entry.index == next, "entry {} where {next} was due", entry.index);
        assert!(forged || written.contains(entry), "entry {next} was never written");
        next = next.next();
    }
    let read =
        wal.reader().entries(recovered.base.index.next(), recovered.last().index, usize::MAX);
    if let Ok(read) = read {
        assert!(read == recovered.entries, "the reader disagrees with the start");
    }
    drop(wal);
    let again = Wal::open(Arc::new(disk), DIR, config(), None).map(|(_, again)| again);
    let again = again.unwrap_or_else(|error| panic!("the second start failed: {error}"));
    assert!(again.entries == recovered.entries, "the second start found other entries");
    assert!(again.cut.is_none(), "the second start cut something");
}

fn change(file: &mut Vec<u8>, what: u8, place: usize, value: u8) {
    if file.is_empty() {
        return;
    }
    let at = place % file.len();
    let sector = at / 512 * 512..(at / 512 * 512 + 512).min(file.len());
    match what {
        0 => file.truncate(at),
        1 => file[sector].fill(value),
        2 => file.copy_within(0..sector.len(), sector.start),
        7 => {
            file[at] = value;
            reseal(file);
        }
        _ => file[at] = value,
    }
}

/// Makes the checksums of a segment right again, as far as its lengths make sense.
fn reseal(file: &mut [u8]) {
    if file.len() < 2 * BLOCK_BYTES {
        return;
    }
    segment::reseal(file);
    if let Ok(header) = SegmentHeader::decode(file) {
        frame::reseal(&mut file[BLOCK_BYTES..], header.salt(), header.first_chain());
    }
}

/// Takes `data` as the header of a segment, as it is and with its checksum made right, and opens
/// a log that begins with it.
pub fn wal_header(data: &[u8]) {
    let _ = SegmentHeader::decode(data);
    let mut file = data.to_vec();
    file.resize(4 * BLOCK_BYTES, 0);
    segment::reseal(&mut file);
    let Ok(header) = SegmentHeader::decode(&file) else { return };
    let again = SegmentHeader::decode(&header.encode());
    assert!(again.as_ref() == Ok(&header), "{again:?} was {header:?}");
    let disk = SimDisk::new();
    disk.plant(&format!("{DIR}/{}", segment::name(header.sequence)), file);
    let opened = Wal::open(Arc::new(disk), DIR, config(), Some(header.identity));
    if let Err(error) = opened {
        assert!(!matches!(error, Error::Vfs(_)), "{error}");
    }
}

#[cfg(test)]
mod tests;
