//! A few seeds in debug builds; the many run in release (`xtask sim`).

use crate::{Options, run};

#[test]
fn seeds_hold_every_invariant_and_replay_equally() {
    for seed in 0..3 {
        let first = run(seed, Options::default()).unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert!(first.counts.is_enough(), "{seed}: {:?}", first.counts);
        let second =
            run(seed, Options::default()).unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert_eq!(first, second, "a run is a function of its seed");
    }
}
