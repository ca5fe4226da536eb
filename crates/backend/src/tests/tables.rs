//! The small tables across seals.

use super::support::*;
use crate::{Delta, FlushJob, TableId};
use bytes::Bytes;
use vfs::sim::SimDisk;

fn rows(n: i64, from: i64, len: usize) -> Vec<Delta> {
    (from..from + n)
        .map(|row| Delta {
            table: TableId((row % 3) as u8),
            key: Bytes::from(format!("row{row}")),
            value: (row % 7 != 0).then(|| Bytes::from(value(len, row))),
        })
        .collect()
}

#[test]
fn large_tables_are_not_written_anew_at_every_seal() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    let mut model = Model::default();
    let first = FlushJob { deltas: rows(300, 1, 16 * 1024), ..job(2..=2, 10) };
    model.flush(&first);
    backend.flush(&first).unwrap();
    let mut sizes = Vec::new();
    for n in 1..60 {
        let next = FlushJob { deltas: rows(20, n * 11, 40), ..job(n * 2 + 1..=n * 2 + 2, 8_000) };
        model.flush(&next);
        backend.flush(&next).unwrap();
        let tables: Vec<String> =
            files(&disk).into_iter().filter(|name| name.ends_with(".tab")).collect();
        sizes.push(tables.len());
    }
    assert!(sizes.iter().any(|count| 1 < *count), "changes went to files of their own");
    let (_, mut recovered) = open(&disk.snapshot()).unwrap();
    assert_eq!(contents(&mut recovered).unwrap(), model);
}

#[test]
fn small_tables_are_one_file() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    for n in 1..40 {
        backend.flush(&job(n * 2 + 1..=n * 2 + 2, 8_000)).unwrap();
    }
    let tables = files(&disk).into_iter().filter(|name| name.ends_with(".tab")).count();
    assert_eq!(tables, 1);
}
