//! Target 3: opening a damaged store.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    backend::fuzz::db_open(data);
    backend::fuzz::db_decode(data);
});
