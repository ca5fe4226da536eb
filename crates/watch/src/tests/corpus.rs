//! The corpus of the fuzz target, replayed.

use crate::fuzz;
use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        run(&std::fs::read(path).unwrap());
    }
}

#[test]
fn the_corpus_of_commands_replays() {
    replay("watch_commands", fuzz::watch_commands);
}

proptest::proptest! {
    #[test]
    fn random_commands_leave_nothing_behind(
        data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..1500)
    ) {
        fuzz::watch_commands(&data);
    }
}
