//! The small tables on disk: files of changes, listed in the manifest and applied in order; the
//! first is an image of everything, a second one holds what changed since.

use crate::error::{Damage, Error, Result};
use crate::format::{Cursor, to_u64, to_usize};
use crate::job::{Delta, TableId, Tables};
use crate::manifest::{self, TableFile};
use crate::state;
use bytes::Bytes;
use std::collections::BTreeMap;
use vfs::{Disk, Open};

const MAGIC: &[u8; 8] = b"MSTABLES";
/// An image up to this size is written anew at every seal, which keeps a start simple.
const IMAGE_BYTES_SMALL: u64 = 1024 * 1024;
/// An image is written anew once its changes reach this part of it.
const IMAGE_SHARE: u64 = 4;

/// Changes since the files of the manifest, the newest of each key.
pub(crate) type Pending = BTreeMap<(TableId, Bytes), Option<Bytes>>;

/// Name of a table file.
pub(crate) fn name_of(id: u64) -> String {
    format!("{id:016x}.tab")
}

/// Applies changes in order.
pub(crate) fn apply(tables: &mut Tables, deltas: impl IntoIterator<Item = Delta>) {
    for Delta { table, key, value } in deltas {
        let rows = tables.entry(table).or_default();
        match value {
            Some(value) => rows.insert(key, value),
            None => rows.remove(&key),
        };
    }
    tables.retain(|_, rows| !rows.is_empty());
}

/// Adds changes to those that are not in a file yet.
pub(crate) fn note(pending: &mut Pending, deltas: &[Delta]) {
    for delta in deltas {
        pending.insert((delta.table, delta.key.clone()), delta.value.clone());
    }
}

/// Reads the files of a manifest, checking each.
pub(crate) fn read(disk: &dyn Disk, dir: &str, files: &[TableFile]) -> Result<Tables> {
    let mut tables = Tables::new();
    for listed in files {
        let path = manifest::path(dir, &name_of(listed.id));
        let damage = |what| Damage { file: path.clone(), offset: 0, after: None, what };
        let file = match disk.open(&path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind == vfs::ErrorKind::NotFound => {
                return Err(damage("the manifest lists this table file, but it is missing").into());
            }
            Err(error) => return Err(error.into()),
        };
        if file.len()? != listed.len {
            return Err(damage("the file does not have the length that the manifest says").into());
        }
        let mut bytes = vec![0; to_usize(listed.len)];
        file.read_at(&mut bytes, 0)?;
        if crc32c::crc32c(&bytes) != listed.crc {
            return Err(damage("the file fails the checksum in the manifest").into());
        }
        let mut cursor = Cursor(&bytes);
        if cursor.take(MAGIC.len()) != Some(MAGIC) {
            return Err(damage("the file is no table file").into());
        }
        let deltas = decode(&mut cursor).ok_or_else(|| damage("the file cannot be parsed"))?;
        apply(&mut tables, deltas);
    }
    Ok(tables)
}

/// Reads changes up to the end.
pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Option<Vec<Delta>> {
    let mut deltas = Vec::new();
    while !cursor.0.is_empty() {
        deltas.push(state::decode_delta(cursor)?);
    }
    Some(deltas)
}

/// Writes `pending` so that `files` and what this returns hold everything: the files to list.
/// The new file, if any, is the last and has the number `id`.
pub(crate) fn write(
    disk: &dyn Disk,
    dir: &str,
    id: u64,
    (files, pending): (&[TableFile], &Pending),
) -> Result<Vec<TableFile>> {
    if pending.is_empty() {
        return Ok(files.to_vec());
    }
    let image_bytes = files.first().map_or(0, |file| file.len);
    let changed: usize = pending
        .iter()
        .map(|((_, key), value)| state::delta_len(key, value.as_ref()))
        .sum::<usize>();
    let behind: u64 = files.iter().skip(1).map(|file| file.len).sum();
    let whole = image_bytes <= IMAGE_BYTES_SMALL.max((behind + to_u64(changed)) * IMAGE_SHARE);
    let mut out = MAGIC.to_vec();
    let mut listed = Vec::new();
    if whole {
        let mut tables = read(disk, dir, files)?;
        apply(&mut tables, deltas_of(pending));
        for (table, rows) in &tables {
            for (key, value) in rows {
                state::encode_delta(&mut out, *table, key, Some(value));
            }
        }
    } else {
        listed.extend_from_slice(files);
        for ((table, key), value) in pending {
            state::encode_delta(&mut out, *table, key, value.as_ref());
        }
    }
    let path = manifest::path(dir, &name_of(id));
    manifest::remove_if_present(disk, &path)?;
    if let Err(error) = manifest::write_temp(disk, &path, &out) {
        if let Error::NoSpace(_) = error {
            manifest::remove_if_present(disk, &path)?;
        }
        return Err(error);
    }
    listed.push(TableFile { id, len: to_u64(out.len()), crc: crc32c::crc32c(&out) });
    Ok(listed)
}

fn deltas_of(pending: &Pending) -> impl Iterator<Item = Delta> {
    pending.iter().map(|((table, key), value)| Delta {
        table: *table,
        key: key.clone(),
        value: value.clone(),
    })
}
