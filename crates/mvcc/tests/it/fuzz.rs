//! Fuzz entries: step sequences, and ranges in every form, against the reference.
//!
//! This file, with `pair.rs` and `steps.rs`, is also compiled into the fuzz targets.

use crate::pair::Pair;
use crate::steps::{Code, Step, decode};
use mvcc::Config;

/// Steps of one input, at most: a fuzzer's inputs may be long.
const STEPS_MAX: usize = 500;

fn codes(data: &[u8]) -> impl Iterator<Item = Code> {
    let chunks = data.chunks_exact(8).take(STEPS_MAX);
    chunks.map(|chunk| chunk.try_into().expect("eight bytes"))
}

/// Target 8: a sequence of operations, compaction and restarts included, against the reference.
pub(crate) fn run(data: &[u8]) {
    let mut pair = Pair::new(Config { resident_bytes: 500, recent_bytes: 1_500 });
    for code in codes(data) {
        pair.step(&decode(code));
    }
    pair.finish();
}

/// Target 7: ranges in every form over a history, against the reference. The first half of the
/// input writes, the second half reads.
pub(crate) fn run_ranges(data: &[u8]) {
    let mut pair = Pair::new(Config { resident_bytes: 500, recent_bytes: 1_500 });
    let codes: Vec<Code> = codes(data).collect();
    let (writes, reads) = codes.split_at(codes.len() / 2);
    for [kind, rest @ ..] in writes {
        pair.step(&decode(code(kind % 16, rest)));
    }
    pair.step(&Step::Flush(1));
    for [kind, rest @ ..] in reads {
        pair.step(&decode(code(17 + kind % 6, rest)));
    }
}

fn code(kind: u8, rest: &[u8; 7]) -> Code {
    let mut code = [kind; 8];
    code[1..].copy_from_slice(rest);
    code
}
