//! HashKV against values that etcd 3.7.3 answered for the same history.

use super::support::*;
use crate::{FlushJob, Reader};
use bytes::Bytes;
use types::{Record, Revision};
use vfs::sim::SimDisk;

/// An encoded KeyValue with all numbers set, as etcd writes it.
fn full(main: i64, key: &str, create: i64, version: i64, value: &str) -> Record {
    let mut out = kv_of_tombstone(key).to_vec();
    for (field, number) in [(2, create), (3, main), (4, version)] {
        out.extend([field << 3, u8::try_from(number).unwrap()]);
    }
    out.extend([5 << 3 | 2, u8::try_from(value.len()).unwrap()]);
    out.extend_from_slice(value.as_bytes());
    Record { revision: Revision::new(main, 0), tombstone: false, kv: Bytes::from(out) }
}

/// `put a one; put b two; del a; put c three; put b four; put a five; del c; del a; del b`.
fn history() -> Vec<Record> {
    vec![
        full(2, "a", 2, 1, "one"),
        full(3, "b", 3, 1, "two"),
        tombstone(4, 0, "a"),
        full(5, "c", 5, 1, "three"),
        full(6, "b", 3, 2, "four"),
        full(7, "a", 7, 1, "five"),
        tombstone(8, 0, "c"),
        tombstone(9, 0, "a"),
        tombstone(10, 0, "b"),
    ]
}

fn reader_of(records: Vec<Record>) -> Reader {
    let mut backend = create(&SimDisk::new());
    backend.flush(&FlushJob { meta: meta(10), records, ..FlushJob::default() }).unwrap()
}

/// {compacted, revision, etcd's hash}, as asked before the last two deletes where it matters.
const GOLDEN: [(i64, i64, u32); 17] = [
    (-1, 2, 2_948_796_561),
    (-1, 3, 1_308_281_141),
    (-1, 4, 3_428_413_938),
    (-1, 5, 947_403_140),
    (-1, 6, 539_572_158),
    (-1, 7, 2_286_123_282),
    (-1, 8, 2_048_475_370),
    (4, 5, 1_236_872_031),
    (4, 6, 3_999_980_718),
    (4, 7, 1_465_689_434),
    (4, 8, 3_858_366_196),
    (7, 8, 217_291_798),
    (7, 9, 1_895_596),
    // Nothing is visible at 10: etcd skips nothing of what compaction left.
    (7, 10, 2_612_740_906),
    (-1, 8, 2_048_475_370),
    (4, 5, 1_236_872_031),
    (7, 8, 217_291_798),
];

#[test]
fn hash_kv_is_etcds_for_the_same_history() {
    let reader = reader_of(history());
    for (compacted, revision, hash) in GOLDEN {
        let ours = reader.hash_kv(revision, compacted).unwrap();
        assert_eq!(ours, hash, "revision {revision} compacted at {compacted}");
    }
}

#[test]
fn a_paced_hash_rests_now_and_then_and_is_the_same() {
    let records: Vec<Record> = (2..10_002).map(|main| tombstone(main, 0, "a")).collect();
    let job = FlushJob { meta: meta(10_001), records, ..FlushJob::default() };
    let reader = create(&SimDisk::new()).flush(&job).unwrap();
    for (compacted, rests) in [(-1, 2), (5_000, 5)] {
        let mut rested = 0;
        let hash = reader.hash_kv_paced(10_001, compacted, &mut || rested += 1).unwrap();
        assert_eq!(hash, reader.hash_kv(10_001, compacted).unwrap());
        assert_eq!(rested, rests, "once in 4,096 records of each walk over 10,000");
    }
}

#[test]
fn a_key_deleted_and_put_again_at_the_hashed_revision_counts_as_gone() {
    // `put b 1; put b 2; compact 2; txn { del b; put b 3 }; put c 4` on etcd 3.7.3.
    let again = Record { revision: Revision::new(4, 1), ..full(4, "b", 4, 1, "3") };
    let records = vec![
        full(2, "b", 2, 1, "1"),
        full(3, "b", 2, 2, "2"),
        tombstone(4, 0, "b"),
        again,
        full(5, "c", 5, 1, "4"),
    ];
    let reader = reader_of(records);
    assert_eq!(reader.hash_kv(4, 2).unwrap(), 1_743_194_376);
    assert_eq!(reader.hash_kv(5, 2).unwrap(), 2_010_944_512);
}

#[test]
fn where_only_delete_markers_are_left_a_compaction_makes_another_hash() {
    // `put a 1; put b 2; compact 3; del a; del b; [compact 5;] put c 3; del c` on etcd 3.7.3.
    let reader = reader_of(vec![
        full(2, "a", 2, 1, "1"),
        full(3, "b", 3, 1, "2"),
        tombstone(4, 0, "a"),
        tombstone(5, 0, "b"),
        full(6, "c", 6, 1, "3"),
        tombstone(7, 0, "c"),
    ]);
    assert_eq!(reader.hash_kv(4, 3).unwrap(), 776_148_148);
    assert_eq!(reader.hash_kv(5, 3).unwrap(), 3_647_447_639);
    assert_eq!(reader.hash_compaction(5, 3, &mut || {}).unwrap(), 1_579_692_566);
    assert_eq!(reader.hash_kv(5, 4).unwrap(), 1_762_963_974);
    assert_eq!(reader.hash_kv(5, 5).unwrap(), 1_084_519_789);
    assert_eq!(reader.hash_kv(6, 5).unwrap(), 236_053_920);
    assert_eq!(reader.hash_kv(7, 5).unwrap(), 3_263_475_700);
    assert_eq!(reader.hash_compaction(7, 5, &mut || {}).unwrap(), 3_263_475_700);
}

#[test]
fn hash_kv_does_not_depend_on_what_was_physically_removed() {
    let whole = reader_of(history());
    for (compacted, dropped) in [(4, vec![2, 4]), (4, vec![2]), (7, vec![2, 3, 4])] {
        let mut records = history();
        records.retain(|record| !dropped.contains(&record.revision.main));
        let trimmed = reader_of(records);
        for revision in compacted + 1..=10 {
            assert_eq!(
                trimmed.hash_kv(revision, compacted).unwrap(),
                whole.hash_kv(revision, compacted).unwrap(),
                "revision {revision}, compacted at {compacted}, without {dropped:?}"
            );
        }
    }
}

#[test]
fn hash_all_changes_with_every_record() {
    let mut hashes: Vec<u32> =
        (0..=9).map(|count| reader_of(history()[..count].to_vec()).hash_all().unwrap()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 10);
}

#[test]
fn the_key_is_found_wherever_the_field_stands() {
    let key_of = |kv: &[u8]| crate::hash::key_of(kv).map(<[u8]>::to_vec);
    assert_eq!(key_of(&[0x10, 0x05, 0x0a, 1, b'k']), Some(b"k".to_vec()));
    assert_eq!(key_of(&[0x0a, 0]), Some(Vec::new()));
    for broken in [&[][..], &[0x0a], &[0x0a, 9, 1], &[0x0b], &[0xff; 11], &[0x10]] {
        assert_eq!(key_of(broken), None);
    }
}
