//! The manifest: which files are the store. Replaced as a whole by one rename.

use crate::error::{Damage, Error, Result};
use crate::format::{self, Cursor, to_u64, to_usize};
use crate::job::Meta;
use crate::state;
use crc32c::{crc32c, crc32c_append};
use types::Revision;
use vfs::{Disk, Open};

/// Name of the manifest.
pub(crate) const NAME: &str = "manifest";
/// Name of a manifest that is not yet the manifest.
pub(crate) const TEMP: &str = "manifest.tmp";

const MAGIC: &[u8; 8] = b"MSMANIFT";
const HEADER: usize = 24;
/// Bytes of one table file in the list.
const TABLE: usize = 20;
/// Bytes of one sealed segment in the list.
const SEALED: usize = 68;
/// A manifest is far smaller: bounds what a start reads into memory.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A sealed segment as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sealed {
    pub(crate) id: u64,
    /// Where its last job ends and its footer begins.
    pub(crate) end: u64,
    /// Its length with the footer.
    pub(crate) len: u64,
    pub(crate) records: u64,
    pub(crate) first: Revision,
    pub(crate) last: Revision,
    pub(crate) digest: u32,
}

/// A table file as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableFile {
    pub(crate) id: u64,
    pub(crate) len: u64,
    pub(crate) crc: u32,
}

/// What the store is made of.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Manifest {
    pub(crate) salt: u64,
    /// Numbers below were given to files; a number is never used twice for listed files.
    pub(crate) next_id: u64,
    /// Number of the last flush job before the active segment.
    pub(crate) job: u64,
    /// The state after that job.
    pub(crate) meta: Meta,
    /// The tables after that job: files to be applied in order.
    pub(crate) tables: Vec<TableFile>,
    /// In revision order.
    pub(crate) sealed: Vec<Sealed>,
    /// The segment that jobs are appended to.
    pub(crate) active: u64,
}

impl Manifest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; HEADER];
        for number in [self.salt, self.next_id, self.job, self.active] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        state::encode_meta(&mut out, &self.meta);
        push_len(&mut out, self.tables.len());
        for table in &self.tables {
            out.extend_from_slice(&table.id.to_le_bytes());
            out.extend_from_slice(&table.len.to_le_bytes());
            out.extend_from_slice(&table.crc.to_le_bytes());
        }
        push_len(&mut out, self.sealed.len());
        for sealed in &self.sealed {
            for number in [sealed.id, sealed.end, sealed.len, sealed.records] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            for revision in [sealed.first, sealed.last] {
                out.extend_from_slice(&revision.main.to_le_bytes());
                out.extend_from_slice(&revision.sub.to_le_bytes());
            }
            out.extend_from_slice(&sealed.digest.to_le_bytes());
        }
        assert_eq!(to_u64(out.len()), self.encoded_len(), "a manifest has the length foretold");
        let body_len = to_u64(out.len() - HEADER);
        out[0..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&format::VERSION.to_le_bytes());
        out[12..16]
            .copy_from_slice(&u32::try_from(body_len).expect("a manifest is small").to_le_bytes());
        let header_crc = crc32c(&out[..16]);
        let body_crc = crc32c_append(header_crc, &out[HEADER..]);
        out[16..20].copy_from_slice(&header_crc.to_le_bytes());
        out[20..24].copy_from_slice(&body_crc.to_le_bytes());
        out
    }

    /// Bytes of the file.
    pub(crate) fn encoded_len(&self) -> u64 {
        let fixed = HEADER + 4 * 8 + state::meta_len(&self.meta) + 2 * 4;
        to_u64(fixed + self.tables.len() * TABLE + self.sealed.len() * SEALED)
    }

    /// Decodes a whole file; the error says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> std::result::Result<Manifest, &'static str> {
        let mut cursor = Cursor(bytes);
        let head = cursor.take(HEADER).ok_or("the manifest is cut short")?;
        let mut head_cursor = Cursor(head);
        let (magic, version) = (head_cursor.take(8), head_cursor.u32());
        let (len, header_crc, body_crc) = (head_cursor.u32(), head_cursor.u32(), head_cursor.u32());
        let crc = crc32c(&head[..16]);
        if header_crc != Some(crc) || magic != Some(MAGIC) {
            return Err("the header of the manifest fails its checksum");
        }
        if version != Some(format::VERSION) {
            return Err("the manifest has a format version that this build does not know");
        }
        if len.map(u64::from) != Some(to_u64(cursor.0.len())) {
            return Err("the manifest does not have the length that its header says");
        }
        if body_crc != Some(crc32c_append(crc, cursor.0)) {
            return Err("the manifest fails its checksum");
        }
        Manifest::decode_body(&mut cursor).ok_or("the manifest cannot be parsed")
    }

    fn decode_body(cursor: &mut Cursor<'_>) -> Option<Manifest> {
        let (salt, next_id, job, active) =
            (cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let meta = state::decode_meta(cursor)?;
        let mut tables = Vec::new();
        for _ in 0..cursor.u32()? {
            let (id, len, crc) = (cursor.u64()?, cursor.u64()?, cursor.u32()?);
            tables.push(TableFile { id, len, crc });
        }
        let mut sealed = Vec::new();
        for _ in 0..cursor.u32()? {
            let (id, end, len) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
            let records = cursor.u64()?;
            let first = Revision::new(cursor.i64()?, cursor.i64()?);
            let last = Revision::new(cursor.i64()?, cursor.i64()?);
            let digest = cursor.u32()?;
            sealed.push(Sealed { id, end, len, records, first, last, digest });
        }
        let whole = cursor.0.is_empty();
        whole.then_some(Manifest { salt, next_id, job, meta, tables, sealed, active })
    }

    /// Reads the manifest of a folder; `None` if there is no such file.
    pub(crate) fn read(disk: &dyn Disk, dir: &str) -> Result<Option<Manifest>> {
        let path = path(dir, NAME);
        let file = match disk.open(&path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind == vfs::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let damage = |what| Damage { file: path.clone(), offset: 0, after: None, what };
        let len = file.len()?;
        if BYTES_MAX < len {
            return Err(damage("the manifest is far too long").into());
        }
        let mut bytes = vec![0; to_usize(len)];
        file.read_at(&mut bytes, 0)?;
        match Manifest::decode(&bytes) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(what) => Err(damage(what).into()),
        }
    }

    /// Makes this the manifest, durably: the atomic step of every change of the file set. A full
    /// disk leaves the old one.
    pub(crate) fn write(&self, disk: &dyn Disk, dir: &str) -> Result<()> {
        let (temp, name) = (path(dir, TEMP), path(dir, NAME));
        remove_if_present(disk, &temp)?;
        let bytes = self.encode();
        if let Err(error) = write_temp(disk, &temp, &bytes) {
            if let Error::NoSpace(_) = error {
                remove_if_present(disk, &temp)?;
            }
            return Err(error);
        }
        disk.rename(&temp, &name)?;
        disk.sync_dir(dir)?;
        Ok(())
    }
}

fn push_len(out: &mut Vec<u8>, len: usize) {
    let len = u32::try_from(len).expect("a manifest lists fewer than 2^32 files");
    out.extend_from_slice(&len.to_le_bytes());
}

/// A new file with these bytes, synced. A full disk is told apart.
pub(crate) fn write_temp(disk: &dyn Disk, path: &str, bytes: &[u8]) -> Result<()> {
    let file = disk.open(path, Open::Create).map_err(Error::allocating)?;
    file.allocate(to_u64(bytes.len())).map_err(Error::allocating)?;
    file.write_at(bytes, 0)?;
    file.set_len(to_u64(bytes.len()))?;
    file.sync()?;
    Ok(())
}

/// Path of a file of the store.
pub(crate) fn path(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

/// Removes a file that may be absent.
pub(crate) fn remove_if_present(disk: &dyn Disk, path: &str) -> Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind != vfs::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
