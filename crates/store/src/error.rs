//! What stops a member: never an outcome of an entry.

use proto::{log, wire};
use std::fmt;

/// Why the state machine cannot go on.
#[derive(Debug)]
pub enum Error {
    /// A log entry that is none.
    Entry(log::Malformed),
    /// A log entry whose request cannot be read.
    Request(wire::Error),
    /// A row of a small table that cannot be read; names the table.
    Table(&'static str),
    /// A stored record that cannot be read.
    Record(types::Revision),
    /// The backend.
    Backend(backend::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Entry(error) => error.fmt(f),
            Error::Request(error) => write!(f, "request of a log entry: {error}"),
            Error::Table(name) => write!(f, "a row of table {name} cannot be read"),
            Error::Record(revision) => write!(f, "record {revision} cannot be read"),
            Error::Backend(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<backend::Error> for Error {
    fn from(error: backend::Error) -> Error {
        Error::Backend(error)
    }
}
