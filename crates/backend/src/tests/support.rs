//! What the tests share: small stores, records of any shape, and a model to compare with.

use crate::{Backend, Config, Delta, FlushJob, Meta, Reader, Recovered, TableId, Tables};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{Index, Record, Revision, Term};
use vfs::sim::SimDisk;

/// The folder of every store under test.
pub(crate) const DIR: &str = "member/db";

/// Small segments, so that few jobs fill them.
pub(crate) fn config() -> Config {
    Config { segment_bytes: 32 * 1024, salt: 0x5a17, ..Config::default() }
}

/// An encoded KeyValue with this key and value.
pub(crate) fn kv(key: &str, value: &[u8], revision: i64) -> Bytes {
    let mut out = Vec::new();
    field(&mut out, 1, key.as_bytes());
    out.push(3 << 3);
    varint(&mut out, revision.unsigned_abs());
    field(&mut out, 5, value);
    out.into()
}

/// The encoded KeyValue of a delete marker.
pub(crate) fn kv_of_tombstone(key: &str) -> Bytes {
    let mut out = Vec::new();
    field(&mut out, 1, key.as_bytes());
    out.into()
}

fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while 0x80 <= value {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put(main: i64, sub: i64, key: &str, value: &[u8]) -> Record {
    Record { revision: Revision::new(main, sub), tombstone: false, kv: kv(key, value, main) }
}

pub(crate) fn tombstone(main: i64, sub: i64, key: &str) -> Record {
    Record { revision: Revision::new(main, sub), tombstone: true, kv: kv_of_tombstone(key) }
}

/// A value of `len` bytes that differs by `seed`.
pub(crate) fn value(len: usize, seed: i64) -> Vec<u8> {
    (0..len).map(|at| (at as i64 * 7 + seed * 31) as u8).collect()
}

/// A job of one put for each main revision, which also sets a row of table 1.
pub(crate) fn job(mains: std::ops::RangeInclusive<i64>, value_len: usize) -> FlushJob {
    let last = *mains.end();
    let records = mains
        .map(|main| put(main, 0, &format!("key{:03}", main % 17), &value(value_len, main)))
        .collect();
    let row = |key: &str, value: Option<String>| Delta {
        table: TableId(1),
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: value.map(Bytes::from),
    };
    FlushJob {
        meta: meta(last),
        records,
        deltas: vec![
            row("last", Some(last.to_string())),
            row(&format!("row{}", last % 5), Some(format!("at {last}"))),
            row(&format!("row{}", (last + 2) % 5), None),
        ],
        removals: Vec::new(),
    }
}

/// The state after main revision `last`; every field follows from it.
pub(crate) fn meta(last: i64) -> Meta {
    Meta {
        applied: Index(last as u64 + 100),
        term: Term(3),
        revision: last,
        compacted: last / 2,
        live_bytes: last * 10,
        conf_state: Bytes::from(format!("conf {last}")),
    }
}

pub(crate) fn create(disk: &SimDisk) -> Backend {
    Backend::create(Arc::new(disk.clone()), DIR, config()).expect("a fresh store").0
}

pub(crate) fn open(disk: &SimDisk) -> crate::Result<(Backend, Recovered)> {
    Backend::open(Arc::new(disk.clone()), DIR, config())
}

/// What a store should hold.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Model {
    pub(crate) meta: Meta,
    pub(crate) records: BTreeMap<Revision, Record>,
    pub(crate) tables: Tables,
}

impl Model {
    /// The effect of a job; what it removes may stay for a while and is dropped here.
    pub(crate) fn flush(&mut self, job: &FlushJob) {
        self.meta = job.meta.clone();
        self.records.extend(job.records.iter().map(|r| (r.revision, r.clone())));
        crate::tables::apply(&mut self.tables, job.deltas.iter().cloned());
        for revision in &job.removals {
            self.records.remove(revision);
        }
    }
}

/// Everything a start finds, read through the scan.
pub(crate) fn contents(recovered: &mut Recovered) -> crate::Result<Model> {
    let records = all(&recovered.reader)?;
    let scanned = (&mut recovered.scan).collect::<crate::Result<Vec<Record>>>()?;
    assert_eq!(scanned, records, "the scan of a start and one of a reader differ");
    let records = records.into_iter().map(|r| (r.revision, r)).collect();
    Ok(Model { meta: recovered.meta.clone(), records, tables: recovered.tables.clone() })
}

/// All records of a reader.
pub(crate) fn all(reader: &Reader) -> crate::Result<Vec<Record>> {
    reader.scan_all().collect()
}

/// Names of the files of the store.
pub(crate) fn files(disk: &SimDisk) -> Vec<String> {
    vfs::Disk::list(disk, DIR).expect("the folder exists")
}
