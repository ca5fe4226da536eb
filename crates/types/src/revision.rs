//! MVCC revisions.

use std::fmt;

/// The version of the whole keyspace at which a change happened: one `main` per write
/// transaction, `sub` counts the changes inside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Revision {
    /// Number of the write transaction; a fresh keyspace stands at 1.
    pub main: i64,
    /// Position of the change inside its transaction, from 0.
    pub sub: i64,
}

impl Revision {
    /// The revision `main.sub`.
    pub const fn new(main: i64, sub: i64) -> Revision {
        Revision { main, sub }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.main, self.sub)
    }
}
