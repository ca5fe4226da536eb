//! Ids of members and clusters, computed as etcd computes them (contract §3.10).

use super::url::Url;
use sha1::{Digest, Sha1};
use types::{ClusterId, MemberId};

/// Id of a member of the first configuration: SHA-1 over its sorted peer URLs and the token.
pub(crate) fn member_id(peer_urls: &[Url], token: &str) -> MemberId {
    let mut urls: Vec<String> = peer_urls.iter().map(ToString::to_string).collect();
    urls.sort();
    MemberId(head(Sha1::digest(urls.concat() + token).as_slice()))
}

/// Id of a cluster: SHA-1 over its sorted member ids.
pub(crate) fn cluster_id(members: &[MemberId]) -> ClusterId {
    let mut ids: Vec<u64> = members.iter().map(|member| member.0).collect();
    ids.sort_unstable();
    let mut hash = Sha1::new();
    for id in ids {
        hash.update(id.to_be_bytes());
    }
    ClusterId(head(hash.finalize().as_slice()))
}

fn head(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
}
