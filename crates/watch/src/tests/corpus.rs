//! The corpus of the fuzz target, replayed.

use crate::fuzz;
use script::corpus::replay;

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
