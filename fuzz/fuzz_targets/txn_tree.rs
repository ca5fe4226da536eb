//! Transaction trees against the reference.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| store::fuzz::txn_tree(data));
