//! The corruption matrix (reliability: CM-1), for every byte of two segments.

use super::fixture::*;
use crate::frame::{Header, Salt};
use crate::recover::{self, Scan};
use crate::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use vfs::sim::SimDisk;
use vfs::{Disk, ErrorKind, File, Open};

/// Large enough for batches of all shapes; every case reads both segments.
const SEGMENT: u64 = 64 << 10;

/// How a log was changed.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    /// Bytes became others: in the last batch that cannot be told from a crash.
    Bytes,
    /// Whole frames moved: no crash does that, so refusing is always right.
    Frames,
}

/// Files in memory that can only be read: a case costs little more than the reading.
#[derive(Clone)]
struct Files(BTreeMap<String, Arc<Vec<u8>>>);

struct InMemory(Arc<Vec<u8>>);

fn failed(action: &'static str, path: &str, kind: ErrorKind) -> vfs::Error {
    vfs::Error { action, path: path.to_string(), offset: None, kind, errno: 0 }
}

impl File for InMemory {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> vfs::Result<()> {
        let from = usize::try_from(offset).unwrap();
        match self.0.get(from..from + buf.len()) {
            Some(bytes) => buf.copy_from_slice(bytes),
            None => return Err(failed("read", "", ErrorKind::ShortRead)),
        }
        Ok(())
    }
    fn write_at(&self, _: &[u8], _: u64) -> vfs::Result<()> {
        Err(failed("write", "", ErrorKind::Io))
    }
    fn sync(&self) -> vfs::Result<()> {
        Err(failed("sync", "", ErrorKind::Io))
    }
    fn len(&self) -> vfs::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn set_len(&self, _: u64) -> vfs::Result<()> {
        Err(failed("set length", "", ErrorKind::Io))
    }
    fn allocate(&self, _: u64) -> vfs::Result<()> {
        Err(failed("allocate", "", ErrorKind::Io))
    }
    fn reads_device(&self) -> bool {
        true
    }
}

impl Disk for Files {
    fn open(&self, path: &str, _: Open) -> vfs::Result<Arc<dyn File>> {
        match self.0.get(path) {
            Some(bytes) => Ok(Arc::new(InMemory(bytes.clone()))),
            None => Err(failed("open", path, ErrorKind::NotFound)),
        }
    }
    fn rename(&self, from: &str, _: &str) -> vfs::Result<()> {
        Err(failed("rename", from, ErrorKind::Io))
    }
    fn remove(&self, path: &str) -> vfs::Result<()> {
        Err(failed("remove", path, ErrorKind::Io))
    }
    fn create_dir(&self, path: &str) -> vfs::Result<()> {
        Err(failed("create folder", path, ErrorKind::Io))
    }
    fn list(&self, path: &str) -> vfs::Result<Vec<String>> {
        let names = self.0.keys().filter_map(|name| name.strip_prefix(path)?.strip_prefix('/'));
        Ok(names.map(str::to_string).collect())
    }
    fn sync_dir(&self, path: &str) -> vfs::Result<()> {
        Err(failed("sync folder", path, ErrorKind::Io))
    }
    fn available(&self) -> vfs::Result<u64> {
        Ok(0)
    }
}

/// A log of two segments, and where everything lies in it.
pub(crate) struct Fixture {
    config: WalConfig,
    files: Files,
    /// Entries of the whole log, and without its last batch.
    whole: Vec<Entry>,
    cut: Vec<Entry>,
    /// The last batch, in the second segment.
    last_batch: Range<usize>,
    /// Frames per segment.
    frames: [Vec<Range<usize>>; 2],
    /// Bytes whose change goes unnoticed: padding and what lies after the end.
    idle: [Vec<bool>; 2],
}

impl Fixture {
    pub(crate) fn new(mutant: Option<Mutant>) -> Fixture {
        Fixture::with_seed(mutant, 42)
    }

    fn with_seed(mutant: Option<Mutant>, seed: u64) -> Fixture {
        let config = WalConfig { mutant, seed, ..config(SEGMENT) };
        let disk = SimDisk::new();
        let mut wal = create(&disk, config.clone());
        let mut index = 1;
        while disk.cached(&path(2)).is_none() || wal.room() > 8 << 10 {
            let mut frames: Vec<Frame> = (index..index + 1 + index % 7)
                .map(|index| Frame::Entry(entry(index, 1, 37 * (index as usize % 9) + 60)))
                .collect();
            if index % 5 == 0 {
                frames.push(Frame::Entry(entry(index + 1 + index % 7, 1, 5000)));
            }
            index += frames.len() as u64;
            frames.push(hard_state(1, 1, index - 1));
            wal.append(&Batch { frames }).unwrap();
        }
        let files = [path(1), path(2)].map(|path| {
            let bytes = disk.cached(&path).unwrap();
            (path, Arc::new(bytes))
        });
        let files = Files(files.into());
        let scan = scan(&files, &config).map_err(|error| error.to_string()).unwrap();
        let last = usize::try_from(scan.last_batch).unwrap()..usize::try_from(scan.end).unwrap();
        let mut fixture = Fixture {
            config,
            cut: Vec::new(),
            whole: scan.entries,
            last_batch: last,
            frames: [Vec::new(), Vec::new()],
            idle: [vec![true; SEGMENT as usize], vec![true; SEGMENT as usize]],
            files,
        };
        fixture.measure(scan.header.salt());
        let without = fixture.edited(2, |bytes| bytes[fixture.last_batch.clone()].fill(0));
        let without = self::scan(&without, &fixture.config).map_err(|e| e.to_string()).unwrap();
        fixture.cut = without.entries;
        assert!(fixture.cut.len() < fixture.whole.len(), "the last batch has entries");
        fixture
    }

    /// Finds the frames.
    fn measure(&mut self, second: Salt) {
        let first = self.bytes(1).clone();
        let first = segment::SegmentHeader::decode(&first).unwrap().salt();
        for (ordinal, salt) in [first, second].into_iter().enumerate() {
            let bytes = self.bytes(ordinal as u64 + 1).clone();
            let mut at = 4096;
            while at < bytes.len() {
                let Some(header) = Header::decode(salt, &bytes[at..]) else {
                    at = (at + 1).next_multiple_of(4096);
                    continue;
                };
                let frame = at..at + header.frame_size();
                let used = at..at + header.unpadded_size();
                self.idle[ordinal][used].fill(false);
                at = frame.end;
                self.frames[ordinal].push(frame);
            }
            self.idle[ordinal][..4096].fill(false);
        }
    }

    fn bytes(&self, sequence: u64) -> &Arc<Vec<u8>> {
        &self.files.0[&path(sequence)]
    }

    fn edited(&self, sequence: u64, edit: impl FnOnce(&mut Vec<u8>)) -> Files {
        let mut files = self.files.clone();
        let bytes = files.0.get_mut(&path(sequence)).unwrap();
        edit(Arc::make_mut(bytes));
        files
    }

    /// Judges one case: bytes `place` of a segment were changed.
    fn judge(
        &self,
        files: &Files,
        sequence: u64,
        place: Range<usize>,
        change: Change,
    ) -> std::result::Result<(), String> {
        let outcome = scan(files, &self.config);
        let is_last = sequence == 2
            && self.last_batch.start <= place.start
            && place.start < self.last_batch.end;
        let is_idle = self.idle[sequence as usize - 1][place.clone()].iter().all(|idle| *idle);
        let verdict = match &outcome {
            Ok(scan) if scan.entries == self.whole => Ok(()),
            Ok(scan) if is_last && scan.entries == self.cut => Ok(()),
            Ok(scan) => {
                Err(format!("a log that ends at {} of {}", scan.entries.len(), self.whole.len()))
            }
            Err(Error::Damage(_) | Error::Refused(_))
                if change == Change::Frames || (!is_last && !is_idle) =>
            {
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        };
        verdict.map_err(|text| format!("segment {sequence}, {place:?}: {text}"))
    }
}

fn scan(files: &Files, config: &WalConfig) -> Result<Scan> {
    let listing = recover::list(files, "member/wal")?;
    recover::scan(files, "member/wal", config, Some(IDENTITY), &listing)
}

/// Every sector zeroed, and every sector as an earlier use of the file left it.
pub(crate) fn sectors(fixture: &Fixture) -> std::result::Result<u64, String> {
    let earlier = Fixture::with_seed(None, 43);
    let mut cases = 0;
    for sequence in [1, 2] {
        for at in (0..SEGMENT as usize).step_by(512) {
            let zeroed = fixture.edited(sequence, |bytes| bytes[at..at + 512].fill(0));
            let stale = fixture.edited(sequence, |bytes| {
                bytes[at..at + 512].copy_from_slice(&earlier.bytes(3 - sequence)[at..at + 512]);
            });
            for files in [zeroed, stale] {
                if files.0 != fixture.files.0 {
                    fixture.judge(&files, sequence, at..at + 512, Change::Bytes)?;
                    cases += 1;
                }
            }
        }
    }
    Ok(cases)
}

/// Every byte of a segment with its lowest bit turned, with all of them, and as zero.
fn bytes(sequence: u64) -> u64 {
    let fixture = Fixture::new(None);
    let mut files = fixture.files.clone();
    let mut cases = 0;
    for at in 0..SEGMENT as usize {
        let before = fixture.bytes(sequence)[at];
        for after in [before ^ 1, before ^ 0xff, 0] {
            if after != before {
                let bytes = files.0.get_mut(&path(sequence)).unwrap();
                Arc::make_mut(bytes)[at] = after;
                fixture.judge(&files, sequence, at..at + 1, Change::Bytes).unwrap();
                cases += 1;
            }
        }
        Arc::make_mut(files.0.get_mut(&path(sequence)).unwrap())[at] = before;
    }
    cases
}

// One test for each segment: they run side by side.
#[test]
fn no_changed_byte_of_the_sealed_segment_is_taken_for_good() {
    let cases = bytes(1);
    assert!(2 * SEGMENT < cases, "{cases} cases");
}

#[test]
fn no_changed_byte_of_the_last_segment_is_taken_for_good() {
    let cases = bytes(2);
    assert!(2 * SEGMENT < cases, "{cases} cases");
}

#[test]
fn no_lost_or_stale_sector_is_taken_for_good() {
    let cases = sectors(&Fixture::new(None)).unwrap();
    assert!(100 < cases, "{cases} cases");
}

#[test]
fn a_segment_shorter_than_its_header_says_is_refused() {
    let fixture = Fixture::new(None);
    for sequence in [2, 1] {
        let mut files = fixture.files.clone();
        for len in (0..SEGMENT as usize).rev() {
            let bytes = files.0.get_mut(&path(sequence)).unwrap();
            Arc::make_mut(bytes).truncate(len);
            let error = scan(&files, &fixture.config).map(|_| ()).unwrap_err();
            let Error::Damage(damage) = error else { panic!("{len} bytes: {error}") };
            assert_eq!((damage.file, damage.offset), (path(sequence), len as u64));
        }
    }
}

#[test]
fn deleted_doubled_and_swapped_frames_are_refused() {
    let fixture = Fixture::new(None);
    let mut cases = 0;
    for (ordinal, frames) in fixture.frames.iter().enumerate() {
        let sequence = ordinal as u64 + 1;
        for (at, frame) in frames.iter().enumerate() {
            let block = frame.end.next_multiple_of(4096);
            let rest = frame.end..block;
            let deleted = fixture.edited(sequence, |bytes| {
                bytes.copy_within(rest.clone(), frame.start);
                bytes[block - frame.len()..block].fill(0);
            });
            let doubled = fixture.edited(sequence, |bytes| {
                let copy = bytes[frame.clone()].to_vec();
                bytes.splice(frame.end..frame.end, copy);
                bytes.truncate(SEGMENT as usize);
            });
            fixture.judge(&deleted, sequence, frame.clone(), Change::Frames).unwrap();
            fixture
                .judge(&doubled, sequence, frame.start..frame.start + 1, Change::Frames)
                .unwrap();
            for other in &frames[at + 1..] {
                let swapped = fixture.edited(sequence, |bytes| {
                    let (a, b) = (bytes[frame.clone()].to_vec(), bytes[other.clone()].to_vec());
                    bytes.splice(other.clone(), a);
                    bytes.splice(frame.clone(), b);
                });
                fixture
                    .judge(&swapped, sequence, frame.start..frame.start + 1, Change::Frames)
                    .unwrap();
                cases += 1;
            }
        }
    }
    assert!(300 < cases, "{cases} cases");
}

#[test]
fn missing_doubled_swapped_and_foreign_segments_are_refused() {
    let fixture = Fixture::new(None);
    let swapped = Files(BTreeMap::from([
        (path(1), fixture.bytes(2).clone()),
        (path(2), fixture.bytes(1).clone()),
    ]));
    let mut doubled = fixture.files.clone();
    doubled.0.insert(path(3), fixture.bytes(2).clone());
    let mut without_oldest = fixture.files.clone();
    without_oldest.0.remove(&path(1));
    let mut gap = fixture.files.clone();
    gap.0.insert(path(4), fixture.bytes(2).clone());
    let mut empty = fixture.files.clone();
    empty.0.insert(path(2), Arc::default());
    let mut stale = fixture.files.clone();
    stale.0.insert(path(2), {
        let disk = SimDisk::new();
        let config = WalConfig { seed: 9, ..config(SEGMENT) };
        let mut wal = create(&disk, config);
        let mut index = 1;
        while disk.cached(&path(2)).is_none() {
            wal.append(&put(index, 900)).unwrap();
            index += 1;
        }
        Arc::new(disk.cached(&path(2)).unwrap())
    });
    let cases = [
        (swapped, "the segment has the name of another one"),
        (doubled, "the segment has the name of another one"),
        (without_oldest, "the segment is missing and its entries were not trimmed"),
        (gap, "the segment is missing"),
        (empty, "the segment is shorter than its header"),
        (stale, "the log is damaged"),
    ];
    for (files, reason) in cases {
        let error = scan(&files, &fixture.config).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(reason), "{reason}: {error}");
    }
}

#[test]
fn garbage_after_the_end_and_unknown_files_do_no_harm() {
    let fixture = Fixture::new(None);
    let end = fixture.last_batch.end;
    let mut files = fixture.edited(2, |bytes| bytes[end..].fill(0xa5));
    files.0.insert("member/wal/x.tmp".into(), Arc::default());
    files.0.insert("member/wal/spare-0000000000000001".into(), Arc::default());
    assert_eq!(
        scan(&files, &fixture.config).unwrap_or_else(|e| panic!("{e}")).entries,
        fixture.whole
    );
}
