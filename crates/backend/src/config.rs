//! Sizes that the shell chooses, and the salt of the checksums.

/// Block size: every job starts on a fresh block, so no block holds bytes of two jobs.
pub(crate) const BLOCK: u64 = 4096;
/// Segment size without a word from the shell. No more than the reserve file, so that a full
/// disk can always rewrite one segment.
const SEGMENT_BYTES_DEFAULT: u64 = 16 * 1024 * 1024;
/// Smallest segment on a small disk.
const SEGMENT_BYTES_MIN: u64 = 1024 * 1024;
/// Share of dead bytes from which a paced rewrite pays.
const GARBAGE_PERCENT_DEFAULT: u8 = 30;

/// How the backend lays out its files.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of a segment; a larger job gets a segment of its own size.
    pub segment_bytes: u64,
    /// A random number of the shell's, used when the store is created: seeds all checksums, so
    /// that bytes which a client chose cannot pass for frames.
    pub salt: u64,
    /// Share of dead bytes, in percent, from which a paced rewrite takes a segment.
    pub garbage_percent: u8,
    /// The planted bug to run with.
    #[cfg(any(test, feature = "mutants"))]
    pub mutant: Option<crate::Mutant>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            segment_bytes: SEGMENT_BYTES_DEFAULT,
            salt: 0,
            garbage_percent: GARBAGE_PERCENT_DEFAULT,
            #[cfg(any(test, feature = "mutants"))]
            mutant: None,
        }
    }
}

impl Config {
    /// The defaults, with smaller segments on a small disk.
    pub fn for_disk(bytes_available: u64, salt: u64) -> Config {
        let wanted = (bytes_available / 32).next_multiple_of(BLOCK);
        let segment_bytes = wanted.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_DEFAULT);
        Config { segment_bytes, salt, ..Config::default() }
    }
}
