//! Why a log could not be read or written, with the place and what to do.

use std::fmt;
use types::Index;

/// Damage that no crash explains: the log is left as it is and the start is refused (exit 65).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The segment.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// First index that cannot be trusted.
    pub index: Index,
    /// What is wrong.
    pub reason: &'static str,
}

/// Errors of the log.
#[derive(Clone, Debug)]
pub enum Error {
    /// The disk failed. What is durable is unknown: the process must end (exit 74).
    Vfs(vfs::Error),
    /// No room for a new segment. Nothing was written; the call may be repeated.
    NoSpace(vfs::Error),
    /// See [`Damage`].
    Damage(Damage),
    /// The log cannot be used this way; the text says why.
    Refused(String),
    /// Entries below this index were trimmed.
    Trimmed(Index),
}

/// Result of a call to the log.
pub type Result<T> = std::result::Result<T, Error>;

impl From<vfs::Error> for Error {
    fn from(error: vfs::Error) -> Error {
        Error::Vfs(error)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the log is damaged: file {}, offset {}, from index {} on: {}. Nothing was changed. \
             In a cluster: `etcdctl member remove` this member, empty its data directory, \
             `member add` it again. A single member: restore a snapshot or a copy of the data \
             directory, and check the disk",
            self.file, self.offset, self.index, self.reason
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Vfs(error) => write!(f, "the log's disk failed: {error}"),
            Error::NoSpace(error) => write!(f, "no room for a new segment of the log: {error}"),
            Error::Damage(damage) => damage.fmt(f),
            Error::Refused(text) => f.write_str(text),
            Error::Trimmed(first) => write!(f, "entries below {first} were trimmed from the log"),
        }
    }
}

impl std::error::Error for Error {}
