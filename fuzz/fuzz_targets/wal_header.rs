//! Headers of log segments.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wal::fuzz::wal_header(data));
