//! Step sequences on the keyspace, compaction and restarts included, against the reference.
#![no_main]

#[path = "../../crates/mvcc/tests/it/fuzz.rs"]
#[expect(dead_code, reason = "it holds the entry of the other target too")]
mod fuzz;
#[path = "../../crates/mvcc/tests/it/pair.rs"]
mod pair;
#[path = "../../crates/mvcc/tests/it/steps.rs"]
mod steps;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run(data));
