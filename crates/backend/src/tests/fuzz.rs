//! Replays the fuzz corpus, and a few thousand inputs more.

use crate::fuzz::{db_decode, db_open};
use std::path::Path;
use vfs::sim::choices::Seeded;

#[test]
fn the_corpus_of_db_open_replays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/db_open");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let data = std::fs::read(entry.unwrap().path()).unwrap();
        db_open(&data);
        db_decode(&data);
        count += 1;
    }
    assert!(5 <= count, "only {count} inputs");
}

#[test]
fn random_edits_are_never_served() {
    for seed in 0..1_500 {
        let mut seeded = Seeded::new(seed);
        let edits = 1 + seeded.choose(4);
        let data: Vec<u8> = (0..edits * 4).map(|_| seeded.choose(256) as u8).collect();
        db_open(&data);
        db_decode(&data);
    }
}
