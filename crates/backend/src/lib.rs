//! Record segments by revision, small tables, the manifest, space reclaim.

/// Reads what is durable; a cheap handle that keeps its files alive.
#[derive(Clone, Debug)]
pub struct Reader {}

/// One atomic step of the backend.
#[derive(Debug, Default)]
pub struct FlushJob {}
