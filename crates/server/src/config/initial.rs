//! The first configuration of a cluster, as `--initial-cluster` tells it.

use super::url::Url;

/// Follows name and peer URLs when it is not given.
pub(super) fn cluster(given: &str, name: &str, peers: &[Url]) -> String {
    match given {
        "" => peers.iter().map(|url| format!("{name}={url}")).collect::<Vec<_>>().join(","),
        given => given.to_string(),
    }
}

/// The URLs of this member in the first configuration.
pub(super) fn own_urls(cluster: &str, name: &str, advertised: &[Url]) -> Result<Vec<Url>, String> {
    let mut own = Vec::new();
    let mut others = Vec::new();
    for part in cluster.split(',').filter(|part| !part.trim().is_empty()) {
        let (who, url) = part.trim().split_once('=').unwrap_or(("", part.trim()));
        let url = Url::parse(url)?;
        if who == name { own.push(url) } else { others.push(who.to_string()) }
    }
    if own.is_empty() {
        return Err(format!(
            "couldn't find local name \"{name}\" in the initial cluster configuration"
        ));
    }
    if !others.is_empty() {
        return Err(format!(
            "--initial-cluster names other members ({}): this build runs clusters of one member",
            others.join(", ")
        ));
    }
    own.sort_by_key(ToString::to_string);
    let mut advertised = advertised.to_vec();
    advertised.sort_by_key(ToString::to_string);
    if own != advertised {
        let list = |urls: &[Url]| {
            urls.iter().map(|url| format!("{name}={url}")).collect::<Vec<_>>().join(",")
        };
        return Err(format!(
            "--initial-cluster has {} but missing from --initial-advertise-peer-urls={}",
            list(&own),
            advertised.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        ));
    }
    Ok(own)
}
