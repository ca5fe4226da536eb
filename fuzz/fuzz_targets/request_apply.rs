//! Requests from the wire, decoded, checked and applied.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| store::fuzz::request_apply(data));
