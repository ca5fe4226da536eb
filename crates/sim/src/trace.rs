//! The trace of a run: a hash always, lines if asked for.

use types::Time;

/// FNV-1a over all that happens.
#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    is_verbose: bool,
    lines: Vec<String>,
}

/// Lines kept for the report of a failure.
const LINES_MAX: usize = 400;

impl Trace {
    pub(crate) fn new(is_verbose: bool) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, is_verbose, lines: Vec::new() }
    }

    /// Notes an event: what kind, and a number that tells it apart.
    pub(crate) fn note(&mut self, now: Time, kind: &str, number: u64) {
        self.mix(&now.0.to_le_bytes());
        self.mix(kind.as_bytes());
        self.mix(&number.to_le_bytes());
        if self.is_verbose {
            if LINES_MAX * 2 <= self.lines.len() {
                self.lines.drain(..LINES_MAX);
            }
            let ms = now.0 / 1_000_000;
            self.lines.push(format!("{ms:>8} ms  {kind} {number}"));
        }
    }

    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }
}
