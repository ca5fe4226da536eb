//! Reads a log and decides: whole, an incomplete last batch, or damage. Changes nothing.
//!
//! Only the last batch of the last segment can be incomplete after a crash: a batch is written
//! after the sync of the one before returned, and a segment after the last sync of the one before
//! it. So a frame of a later batch, or a later segment, proves that the place before was durable
//! once, and what is wrong there is damage.

use crate::catalog::{BatchRef, Catalog, Segment};
use crate::frame::{ALIGN, BLOCK, Decoded, Header, NoBatch, decode, to_u32, to_usize};
use crate::mutant::{self, Mutant};
use crate::segment::{self, HEADER_BYTES, SegmentHeader};
use crate::tail::Tail;
use crate::{Batch, Damage, Entry, Error, Frame, Identity, Install, Position, Result, WalConfig};
use types::Index;
use vfs::{Disk, File, Open};

/// What there is in the log's folder.
#[derive(Default)]
pub(crate) struct Listing {
    /// Sequence numbers of segments, ascending.
    pub(crate) segments: Vec<u64>,
    /// Numbers of unused segments, ascending.
    pub(crate) spares: Vec<u64>,
}

/// Lists the log's folder; a folder that is missing holds nothing.
pub(crate) fn list(disk: &dyn Disk, dir: &str) -> Result<Listing> {
    let names = match disk.list(dir) {
        Ok(names) => names,
        Err(error) if error.kind == vfs::ErrorKind::NotFound => return Ok(Listing::default()),
        Err(error) => return Err(error.into()),
    };
    let segments = names.iter().filter_map(|name| segment::parse_name(name)).collect();
    let spares = names.iter().filter_map(|name| segment::parse_spare(name)).collect();
    Ok(Listing { segments, spares })
}

/// An incomplete batch after the end of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Torn {
    /// Where the last thing of it ends.
    pub(crate) to: u64,
    /// Why it is not complete.
    pub(crate) reason: &'static str,
}

/// What a log holds.
pub(crate) struct Scan {
    pub(crate) header: SegmentHeader,
    pub(crate) catalog: Catalog,
    pub(crate) tail: Tail,
    pub(crate) base: Position,
    pub(crate) entries: Vec<Entry>,
    pub(crate) install: Option<Install>,
    /// The bytes of the last segment, from the device if it can be read.
    pub(crate) bytes: Vec<u8>,
    /// True if they are from the device, so that the last batch need not be written again.
    pub(crate) from_device: bool,
    /// Where the next batch goes in the last segment.
    pub(crate) end: u64,
    /// Where the last batch of the last segment begins.
    pub(crate) last_batch: u64,
    pub(crate) torn: Option<Torn>,
}

/// Reads the whole log.
pub(crate) fn scan(
    disk: &dyn Disk,
    dir: &str,
    config: &WalConfig,
    identity: Option<Identity>,
    listing: &Listing,
) -> Result<Scan> {
    let Some((&last, older)) = listing.segments.split_last() else {
        let text = format!("there is no log in {dir}: no segment file was found");
        return Err(Error::Refused(text));
    };
    let mut scanner = Scanner::new(disk, dir, config, identity);
    for &sequence in older {
        let bytes = scanner.open(sequence, Open::Read)?.bytes;
        scanner.batches(&bytes)?;
    }
    let how = if config.is_mutant(Mutant::NoSyncOfStart) { Open::Read } else { Open::ReadDevice };
    let loaded = scanner.open(last, how)?;
    let stop = scanner.batches(&loaded.bytes)?;
    let torn = scanner.torn(&loaded.bytes, stop)?;
    scanner.check()?;
    Ok(scanner.finish(loaded, torn))
}

/// Why there is no whole batch at a place: `offset` bytes after its beginning.
struct Stop {
    offset: usize,
    reason: &'static str,
}

/// A segment in memory.
struct Loaded {
    bytes: Vec<u8>,
    from_device: bool,
}

struct Scanner<'a> {
    disk: &'a dyn Disk,
    dir: &'a str,
    config: &'a WalConfig,
    identity: Option<Identity>,
    /// The header of the segment in hand, and of the oldest one.
    header: Option<SegmentHeader>,
    first: Option<SegmentHeader>,
    catalog: Catalog,
    tail: Tail,
    base: Position,
    entries: Vec<Entry>,
    install: Option<Install>,
    /// Where the next batch of the segment in hand begins, and where the last one began.
    at: u64,
    last_batch: u64,
    prefix: Vec<Frame>,
}

impl<'a> Scanner<'a> {
    fn new(
        disk: &'a dyn Disk,
        dir: &'a str,
        config: &'a WalConfig,
        identity: Option<Identity>,
    ) -> Scanner<'a> {
        Scanner {
            disk,
            dir,
            config,
            identity,
            header: None,
            first: None,
            catalog: Catalog::default(),
            tail: Tail::default(),
            base: Position::default(),
            entries: Vec::new(),
            install: None,
            at: BLOCK,
            last_batch: BLOCK,
            prefix: Vec::new(),
        }
    }

    fn path(&self, sequence: u64) -> String {
        segment::path(self.dir, &segment::name(sequence))
    }

    fn damage(&self, file: String, offset: u64, reason: &'static str) -> Error {
        Error::Damage(Damage { file, offset, index: self.tail.last.index.next(), reason })
    }

    /// Damage in the segment in hand.
    fn damage_at(&self, offset: u64, reason: &'static str) -> Error {
        let sequence = self.header.as_ref().map_or(0, |header| header.sequence);
        self.damage(self.path(sequence), offset, reason)
    }

    /// Reads a segment and checks that it follows the one before.
    fn open(&mut self, sequence: u64, how: Open) -> Result<Loaded> {
        let path = self.path(sequence);
        if let Some(before) = &self.header
            && before.sequence + 1 != sequence
        {
            let missing = self.path(before.sequence + 1);
            return Err(self.damage(missing, 0, "the segment is missing"));
        }
        let file = self.disk.open(&path, how)?;
        let len = file.len()?;
        let mut block = vec![0; HEADER_BYTES];
        if len < BLOCK {
            return Err(self.damage(path, len, "the segment is shorter than its header"));
        }
        file.read_at(&mut block, 0)?;
        let header =
            SegmentHeader::decode(&block).map_err(|reason| self.damage(path.clone(), 0, reason))?;
        if header.sequence != sequence {
            return Err(self.damage(path, 0, "the segment has the name of another one"));
        }
        if self.identity.is_some_and(|identity| identity != header.identity) {
            let Identity { cluster, member } = header.identity;
            let text = format!(
                "{path} belongs to member {:x} of cluster {:x}, not to this one: the data \
                 directory was mixed up or the flags changed",
                member.0, cluster.0
            );
            return Err(Error::Refused(text));
        }
        if len < header.size {
            let reason = "the segment is shorter than its header says";
            return Err(self.damage(path, len, reason));
        }
        self.follow(&header)?;
        let mut bytes = vec![0; usize::try_from(header.size).expect("fits into memory")];
        file.read_at(&mut bytes, 0)?;
        let from_device = file.reads_device();
        let reader = if from_device { self.disk.open(&path, Open::Read)? } else { file };
        self.catalog.segments.push_back(Segment {
            sequence,
            path,
            size: header.size,
            salt: header.salt(),
            file: reader,
            max_index: Index(0),
        });
        self.header = Some(header);
        (self.at, self.last_batch) = (BLOCK, BLOCK);
        Ok(Loaded { bytes, from_device })
    }

    /// Checks a header against the end of the segment before; the oldest one begins the log.
    fn follow(&mut self, header: &SegmentHeader) -> Result<()> {
        if self.header.is_none() {
            self.identity = Some(header.identity);
            self.base = header.tail.last;
            self.tail = header.tail.clone();
            self.first = Some(header.clone());
        } else if self.tail.batch < header.tail.batch {
            let reason = "a batch is damaged that the next segment says was written";
            return Err(self.damage_at(self.at, reason));
        } else if self.tail != header.tail {
            let path = self.path(header.sequence);
            return Err(self.damage(path, 0, "the segment does not follow the one before"));
        }
        self.tail.chain = header.first_chain();
        Ok(())
    }

    /// Takes the batches of the segment in hand, and says why there is no further one.
    fn batches(&mut self, bytes: &[u8]) -> Result<Stop> {
        let salt = self.header.as_ref().expect("a segment is in hand").salt();
        loop {
            let rest = usize::try_from(self.at).ok().and_then(|at| bytes.get(at..));
            let rest = rest.unwrap_or_default();
            let (number, chain) = (self.tail.batch + 1, self.tail.chain);
            match decode(rest, salt, number, chain, &mut self.prefix) {
                Ok(decoded) => self.take(decoded)?,
                Err(NoBatch::Invalid { offset, reason }) => {
                    return Err(self.damage_at(self.at + offset as u64, reason));
                }
                Err(NoBatch::Incomplete { offset, reason }) => {
                    let prefix = (&mut self.prefix, offset);
                    match mutant::accepted(self.config, &self.tail, (rest, salt), prefix) {
                        Some(decoded) => self.take(decoded)?,
                        None => return Ok(Stop { offset, reason }),
                    }
                }
            }
        }
    }

    /// Takes one batch into the state of the log.
    fn take(&mut self, decoded: Decoded) -> Result<()> {
        let Decoded { batch, chain, bytes } = decoded;
        let before = (self.tail.last, self.tail.chain);
        let after = match self.tail.after(&batch) {
            Ok(after) => after,
            Err(reason) => return Err(self.damage_at(self.at, reason)),
        };
        self.tail = Tail { batch: self.tail.batch + 1, chain, ..after };
        let sequence = self.header.as_ref().map_or(0, |header| header.sequence);
        let place = BatchRef {
            sequence,
            offset: self.at,
            bytes: to_u32(bytes),
            chain: before.1,
            number: self.tail.batch,
            first: Index(0),
            count: 0,
        };
        enter(&mut self.catalog, &batch, place);
        for frame in batch.frames {
            match frame {
                Frame::Entry(entry) => self.entry(entry),
                Frame::Install(install) => {
                    self.entries.clear();
                    self.base = install.position;
                    self.install = Some(install);
                }
                _ => {}
            }
        }
        self.last_batch = self.at;
        self.at += (bytes as u64).next_multiple_of(BLOCK);
        Ok(())
    }

    fn entry(&mut self, entry: Entry) {
        if entry.index <= self.base.index {
            // It replaces entries of a segment that was trimmed since. Those before it are gone,
            // so it is only known by its position; that it was trimmed too is checked at the end.
            self.entries.clear();
            self.base = Position { index: entry.index, term: entry.term };
            return;
        }
        let keep = usize::try_from(entry.index.0 - self.base.index.0 - 1);
        let keep = keep.expect("no more than there are entries");
        assert!(keep <= self.entries.len(), "a gap before {} passed the tail", entry.index);
        self.entries.truncate(keep);
        self.entries.push(entry);
    }

    /// Looks for frames after the end of the last segment.
    fn torn(&self, bytes: &[u8], stop: Stop) -> Result<Option<Torn>> {
        let Stop { offset, reason } = stop;
        let header = self.header.as_ref().expect("a segment is in hand");
        let from = usize::try_from(self.at).expect("in memory");
        let number = self.tail.batch + 1;
        if self.config.is_mutant(Mutant::LengthZeroIsEnd) {
            let len = bytes.get(from + offset + 8..).and_then(|rest| rest.first_chunk());
            if len == Some(&[0; 4]) {
                return Ok(None);
            }
        }
        let mut to = None;
        for at in (from..bytes.len()).step_by(ALIGN) {
            let Some(found) = Header::decode(header.salt(), &bytes[at..]) else { continue };
            if found.batch != number {
                let reason = match number < found.batch {
                    true => "a batch is damaged that a later batch proves was written",
                    false => "a frame of an earlier batch lies after the end of the log",
                };
                return Err(self.damage_at(self.at + offset as u64, reason));
            }
            if found.first.is_some() && at != from {
                let reason = "the last batch does not begin where the one before ends";
                return Err(self.damage_at(self.at, reason));
            }
            let len = found.first.map_or(found.frame_size(), |(bytes, _)| to_usize(bytes));
            to = to.max(Some(at + len));
        }
        let to = to.map(|to| (to as u64).next_multiple_of(BLOCK).min(header.size));
        Ok(to.map(|to| Torn { to, reason }))
    }

    /// Checks that nothing is missing before the oldest segment.
    fn check(&self) -> Result<()> {
        let first = self.first.as_ref().expect("there is a segment");
        let covered = self.tail.trimmed.max(self.tail.install.index);
        if covered < self.base.index {
            let missing = self.path(first.sequence.saturating_sub(1));
            return Err(Error::Damage(Damage {
                file: missing,
                offset: 0,
                index: covered.next(),
                reason: "the segment is missing and its entries were not trimmed",
            }));
        }
        Ok(())
    }

    fn finish(self, loaded: Loaded, torn: Option<Torn>) -> Scan {
        Scan {
            header: self.header.expect("a segment is in hand"),
            catalog: self.catalog,
            tail: self.tail,
            base: self.base,
            entries: self.entries,
            install: self.install,
            bytes: loaded.bytes,
            from_device: loaded.from_device,
            end: self.at,
            last_batch: self.last_batch,
            torn,
        }
    }
}

/// Puts a batch into the catalog: its entries count from its last install on.
pub(crate) fn enter(catalog: &mut Catalog, batch: &Batch, place: BatchRef) {
    if batch.frames.iter().any(|frame| matches!(frame, Frame::Install(_))) {
        catalog.truncate(Index(0));
    }
    let mut entries = batch.frames.iter().filter_map(|frame| match frame {
        Frame::Entry(entry) => Some(entry.index),
        _ => None,
    });
    let Some(first) = entries.next() else { return };
    let count = 1 + entries.count() as u64;
    catalog.push(BatchRef { first, count, ..place });
}

/// True if two files hold other bytes from `from` on, as far as `bytes` go.
pub(crate) fn differs(file: &dyn File, bytes: &[u8], from: u64) -> Result<bool> {
    let from_index = usize::try_from(from).expect("in memory");
    let mut cached = vec![0; bytes.len() - from_index];
    file.read_at(&mut cached, from)?;
    Ok(cached != bytes[from_index..])
}
