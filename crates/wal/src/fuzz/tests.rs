//! The corpus replays, and bytes never panic.

use super::*;
use script::corpus::replay;
use vfs::sim::choices::Seeded;

#[test]
fn the_corpora_replay() {
    replay("wal_segment", wal_segment);
    replay("wal_header", wal_header);
}

#[test]
fn random_edits_are_never_taken_for_good() {
    for seed in 0..3_000 {
        let mut seeded = Seeded::new(seed);
        let edits = 1 + seeded.choose(3);
        let data: Vec<u8> = (0..edits * 4).map(|_| seeded.choose(256) as u8).collect();
        wal_segment(&data);
    }
}

#[test]
fn random_headers_do_no_harm() {
    let valid = {
        let disk = SimDisk::new();
        log(&disk);
        disk.cached(&format!("{DIR}/{}", segment::name(1))).unwrap()[..160].to_vec()
    };
    for seed in 0..3_000 {
        let mut seeded = Seeded::new(seed);
        let mut data = valid.clone();
        for _ in 0..1 + seeded.choose(3) {
            let at = seeded.choose(data.len());
            data[at] = [0, 1, 0x7f, 0xff][seeded.choose(4)];
        }
        wal_header(&data);
    }
}
