//! Kinds of alarm.

/// Kinds of alarm, with etcd's numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AlarmKind {
    /// Any, in a list; nothing, when raised.
    None = 0,
    /// Over the quota.
    NoSpace = 1,
    /// Data differs between members or from its checksum.
    Corrupt = 2,
}
