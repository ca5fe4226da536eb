//! The corpora of the fuzz targets, replayed.

use crate::fuzz;
use script::corpus::replay;

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
