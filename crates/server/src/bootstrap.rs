//! What a fresh data folder becomes: a founder of a new cluster, or a member that joins one.
//!
//! A folder that holds a log is neither: what the flags say about the first configuration does not
//! count any more.

use crate::config::Config;
use crate::config::url::Url;
use crate::peer::members::{self, Listed};
use anyhow::{Context as _, bail};
use std::time::Duration;

/// Time that a new cluster's other founders have to say that this one was here before.
const FOUNDED_PATIENCE: Duration = Duration::from_secs(1);
/// Time that a running cluster's members have to tell of it.
const JOIN_PATIENCE: Duration = Duration::from_secs(10);

/// Decides which, and sets the ids of member and cluster.
pub async fn begin(config: &mut Config) -> anyhow::Result<()> {
    match config.initial_cluster_new {
        true => found(config).await,
        false => join(config).await,
    }
}

async fn found(config: &mut Config) -> anyhow::Result<()> {
    config.verify_bootstrap().map_err(anyhow::Error::msg)?;
    config.member_id = config.own().map_err(anyhow::Error::msg)?.id;
    let others = others(config);
    if others.is_empty() {
        return Ok(());
    }
    // A wiped member must not come back under its old id: it has voted and acknowledged before.
    let Some((_, listed)) = members::fetch(&others, FOUNDED_PATIENCE).await else { return Ok(()) };
    let was_here =
        |member: &Listed| member.id == config.member_id && !member.client_urls.is_empty();
    if listed.iter().any(was_here) {
        bail!("member {:x} has already been bootstrapped", config.member_id.0);
    }
    Ok(())
}

async fn join(config: &mut Config) -> anyhow::Result<()> {
    config.verify_join().map_err(anyhow::Error::msg)?;
    let (cluster, listed) = members::fetch(&others(config), JOIN_PATIENCE).await.context(
        "cannot fetch cluster info from peer urls: could not retrieve cluster information from the \
         given URLs",
    )?;
    members::match_ids(&mut config.founders, &listed)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("error validating peerURLs {}", describe(&listed)))?;
    config.cluster_id = cluster;
    config.member_id = config.own().map_err(anyhow::Error::msg)?.id;
    Ok(())
}

/// The other founders' URLs, sorted.
fn others(config: &Config) -> Vec<Url> {
    let others = config.founders.iter().filter(|founder| founder.name != config.name);
    let mut urls: Vec<Url> = others.flat_map(|founder| founder.urls.clone()).collect();
    urls.sort();
    urls
}

fn describe(listed: &[Listed]) -> String {
    let one = |member: &Listed| format!("{:x}={}", member.id.0, member.peer_urls.join(","));
    listed.iter().map(one).collect::<Vec<_>>().join(" ")
}
