//! Random steps on the keyspace and on the reference: over 200,000 in a run.

use crate::pair::Pair;
use crate::steps::decode;
use mvcc::Config;
use proptest::prelude::*;

/// Steps per case, at most: the sum over the cases is above 200,000.
const STEPS: usize = 400;

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, ..ProptestConfig::default() })]

    #[test]
    fn keyspace_and_reference_agree(
        codes in prop::collection::vec(any::<[u8; 8]>(), 200..STEPS),
        resident in prop_oneof![Just(0), Just(2_000), Just(usize::MAX)],
        recent in prop_oneof![Just(0), Just(3_000), Just(usize::MAX)],
    ) {
        let config = Config { resident_bytes: resident, recent_bytes: recent };
        let mut pair = Pair::new(config);
        for code in codes {
            pair.step(&decode(code));
        }
        pair.finish();
    }
}
