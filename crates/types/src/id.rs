//! Identifiers as newtypes, so that a term can never be passed for an index.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $repr:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        pub struct $name(pub $repr);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A raft election epoch.
    Term,
    u64
);
id!(
    /// A position in the raft log; the first entry has index 1.
    Index,
    u64
);
id!(
    /// A client lease. Any value but 0; 0 means "no lease".
    LeaseId,
    i64
);
id!(
    /// A configured member of the cluster.
    MemberId,
    u64
);
id!(
    /// A cluster.
    ClusterId,
    u64
);

impl Index {
    /// The index after this one.
    pub fn next(self) -> Index {
        Index(self.0 + 1)
    }
}
