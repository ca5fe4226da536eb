//! Sequences of commands on watch streams.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| watch::fuzz::watch_commands(data));
