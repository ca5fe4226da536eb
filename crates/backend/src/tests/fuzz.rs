//! Replays the fuzz corpus, and a few thousand inputs more.

use crate::fuzz::{db_decode, db_open};
use vfs::sim::choices::Seeded;

#[test]
fn the_corpus_of_db_open_replays() {
    script::corpus::replay("db_open", |data| {
        db_open(data);
        db_decode(data);
    });
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
