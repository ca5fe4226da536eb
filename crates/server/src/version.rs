//! Version strings (contract §0.1): tools and Kubernetes switch features by them.

/// The server's version.
pub const SERVER: &str = crate::config::usage::SERVER_VERSION;
/// The cluster's version.
pub const CLUSTER: &str = "3.7.0";
/// The cluster's version as the downgrade RPC prints it.
pub const CLUSTER_SHORT: &str = "3.7";
/// The storage's version.
pub const STORAGE: &str = "3.7.0";
/// Before the cluster's version is decided.
pub const NOT_DECIDED: &str = "not_decided";
/// The only version that a downgrade may name.
pub const DOWNGRADE_TARGET: (u64, u64) = (3, 6);

/// Major and minor of `X.Y` or `X.Y.Z`.
pub fn parse_major_minor(text: &str) -> Option<(u64, u64)> {
    let parts: Vec<&str> = text.split('.').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    let numbers: Vec<u64> =
        parts.iter().map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some((numbers[0], numbers[1]))
}
