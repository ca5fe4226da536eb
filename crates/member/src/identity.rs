//! Ids of members and clusters, computed by etcd's rule.

use sha1::{Digest, Sha1};
use types::{ClusterId, MemberId};

/// The id of a member of a new cluster: from its peer URLs (in any order) and the cluster's token.
pub fn member_id(peer_urls: &[String], token: &str) -> MemberId {
    let mut urls: Vec<&str> = peer_urls.iter().map(String::as_str).collect();
    urls.sort_unstable();
    let mut hash = Sha1::new();
    for url in urls {
        hash.update(url.as_bytes());
    }
    hash.update(token.as_bytes());
    MemberId(first_eight(&hash.finalize()))
}

/// The id of a member that joins a cluster: from its peer URLs and the second at which it was added.
pub fn joining_member_id(peer_urls: &[String], seconds: u64) -> MemberId {
    member_id(peer_urls, &seconds.to_string())
}

/// The id of a new cluster: from the ids of its members.
pub fn cluster_id(members: &[MemberId]) -> ClusterId {
    let mut ids = members.to_vec();
    ids.sort_unstable();
    let mut hash = Sha1::new();
    for id in ids {
        hash.update(id.0.to_be_bytes());
    }
    ClusterId(first_eight(&hash.finalize()))
}

fn first_eight(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
}
