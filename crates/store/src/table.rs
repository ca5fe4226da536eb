//! The small tables of the backend and their numbers, which are part of the disk format.

/// Numbers of the tables.
pub mod tables {
    use backend::TableId;

    /// Lease id -> `lease::Row`.
    pub const LEASES: TableId = TableId(1);
    /// Member id and kind -> nothing.
    pub const ALARMS: TableId = TableId(2);
    /// Member id -> `membershippb.Member`.
    pub const MEMBERS: TableId = TableId(3);
    /// Name -> text: cluster version, downgrade target.
    pub const CLUSTER: TableId = TableId(4);
    /// Proposer -> the window of its request ids.
    pub const WINDOW: TableId = TableId(5);
    /// One row: the chain of hashes.
    pub const CHAIN: TableId = TableId(6);
    /// Id of a member that was removed -> nothing. It never comes back.
    pub const REMOVED: TableId = TableId(7);
}
