//! Entry points for fuzzing: they eat any bytes and must neither panic nor hang.

use crate::{Backend, Config, Delta, FlushJob, Meta, Pace, TableId};
use bytes::Bytes;
use std::sync::Arc;
use types::{Index, Record, Revision, Term};
use vfs::Disk;
use vfs::sim::SimDisk;

const DIR: &str = "db";

/// Makes a small store, edits its files as `data` says, opens it and reads all of it. Four bytes
/// are one edit: {file, place (2), new byte}; a first byte of 0xff cuts the file there instead.
/// Served bytes are the ones written, or there is an error.
pub fn db_open(data: &[u8]) {
    let disk = SimDisk::new();
    let written = store(&disk);
    let names = disk.list(DIR).expect("the folder was made");
    for edit in data.chunks_exact(4).take(64) {
        let name = &names[usize::from(edit[0]) % names.len()];
        disk.rot(&format!("{DIR}/{name}"), |file| {
            let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % file.len().max(1);
            match file.get_mut(at) {
                Some(_) if edit[0] == 0xff => file.truncate(at),
                Some(byte) => *byte = edit[3],
                None => {}
            }
        });
    }
    let Ok((mut backend, recovered)) = Backend::open(Arc::new(disk), DIR, config()) else {
        return;
    };
    for record in recovered.scan.map_while(Result::ok) {
        assert!(written.contains(&record), "record {} was never written", record.revision);
    }
    for record in &written {
        if let Ok(Some(found)) = recovered.reader.get(record.revision) {
            assert_eq!(&found, record, "a record was changed");
        }
    }
    let last = written.last().map_or(1, |record| record.revision.main);
    let _ = recovered.reader.hash_kv(last, last / 2);
    let _ = recovered.reader.scan(3, last, 1000);
    let meta = Meta { applied: Index(u64::MAX), revision: last + 1, ..Meta::default() };
    let removals = written.iter().step_by(2).map(|record| record.revision).collect();
    let _ = backend.flush(&FlushJob { meta, removals, ..FlushJob::default() });
    while let Ok(Some(_)) = backend.rewrite_step(Pace::Now) {}
}

/// Decodes `data` as each kind of frame and file.
pub fn db_decode(data: &[u8]) {
    let _ = crate::manifest::Manifest::decode(data);
    let _ = crate::format::decode_footer(data, 7);
    let _ = crate::format::JobHeader::decode(data, 7);
    let _ = crate::format::RecordHeader::decode(data, 7);
    let _ = crate::format::CommitHeader::decode(data, 7);
    let _ = crate::tables::decode(&mut crate::format::Cursor(data));
    let _ = crate::hash::key_of(data);
}

fn config() -> Config {
    Config { segment_bytes: 16 * 1024, salt: 5, ..Config::default() }
}

/// Three segments and tables; returns what was written.
fn store(disk: &SimDisk) -> Vec<Record> {
    let made = Backend::create(Arc::new(disk.clone()), DIR, config());
    let (mut backend, _) = made.expect("the disk is sound");
    let mut written = Vec::new();
    for n in 0..8_u8 {
        let main = 2 + i64::from(n) * 2;
        let mut job = FlushJob {
            meta: Meta { applied: Index(u64::from(n)), term: Term(1), ..Meta::default() },
            ..FlushJob::default()
        };
        job.meta.revision = main + 1;
        for main in [main, main + 1] {
            let mut kv = vec![0x0a, 1, b'a' + n % 3, 0x2a, 100];
            kv.resize(105 + usize::from(n) * 300, n);
            let revision = Revision::new(main, 0);
            job.records.push(Record { revision, tombstone: n == 3, kv: Bytes::from(kv) });
        }
        let key = Bytes::from(vec![n % 4]);
        job.deltas = vec![Delta { table: TableId(1), key, value: Some(Bytes::from(vec![n; 40])) }];
        written.extend(job.records.clone());
        backend.flush(&job).expect("the disk is sound");
    }
    written
}
