//! The corpora of the fuzz targets, replayed.

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
fn the_corpus_of_requests_replays() {
    replay("request_apply", fuzz::request_apply);
}

#[test]
fn the_corpus_of_transactions_replays() {
    replay("txn_tree", fuzz::txn_tree);
}

proptest::proptest! {
    #[test]
    fn random_bytes_are_applied_or_refused(
        data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)
    ) {
        fuzz::request_apply(&data);
        fuzz::txn_tree(&data);
    }
}
