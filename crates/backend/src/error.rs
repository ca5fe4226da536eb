//! What can go wrong: the disk, a full disk, damage, or a state that must not be opened.

use std::fmt;
use types::Revision;

/// Result of a call to the backend.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Only `NoSpace` leaves the backend usable after a write.
#[derive(Clone, Debug)]
pub enum Error {
    /// The disk failed: the process ends (exit 74), nothing is retried.
    Vfs(vfs::Error),
    /// The disk is full; nothing was changed and the call may be repeated later.
    NoSpace(vfs::Error),
    /// Bytes on disk are not what was written: refuse to start (exit 65), or stop serving.
    Damage(Damage),
    /// The folder holds no backend. The caller decides: a complete log rebuilds it.
    Missing {
        /// The folder.
        dir: String,
    },
    /// The state is whole but must not be opened or written so.
    Refused(String),
}

/// Where damage was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The file.
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// The newest revision known to be whole before it.
    pub after: Option<Revision>,
    /// What is wrong there.
    pub what: &'static str,
}

impl Error {
    /// An error of a call that allocates: a full disk there is a state, not a failure.
    pub(crate) fn allocating(error: vfs::Error) -> Error {
        match error.kind {
            vfs::ErrorKind::NoSpace => Error::NoSpace(error),
            _ => Error::Vfs(error),
        }
    }
}

impl From<vfs::Error> for Error {
    fn from(error: vfs::Error) -> Error {
        Error::Vfs(error)
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        Error::Damage(damage)
    }
}

/// What to do about damage, in the words of the refusal.
const ADVICE: &str = "the store is refused as it is; restore the data directory from a backup, \
     or replace this member";

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at offset {}", self.file, self.offset)?;
        if let Some(after) = self.after {
            write!(f, ", after revision {after}")?;
        }
        write!(f, ": {}; {ADVICE}", self.what)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Vfs(error) | Error::NoSpace(error) => error.fmt(f),
            Error::Damage(damage) => damage.fmt(f),
            Error::Missing { dir } => write!(
                f,
                "{dir} holds no manifest; if the log is complete the store is rebuilt from it, \
                 else restore the data directory from a backup, or replace this member"
            ),
            Error::Refused(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
