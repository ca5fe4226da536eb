//! Flags, environment and configuration file.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| server::fuzz::configuration(data));
