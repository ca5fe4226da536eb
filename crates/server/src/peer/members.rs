//! `GET /members` on the peer port, as etcd's: how a member that joins learns of its cluster.

use super::dial::dial;
use crate::config::initial::texts;
use crate::config::url::Url;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;
use types::{ClusterId, MemberId};

/// The path.
pub const PATH: &str = "/members";
/// Header with the cluster's id.
pub const CLUSTER_HEADER: &str = "x-etcd-cluster-id";
/// A list longer than this is not one.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A member as the list has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its id.
    pub id: MemberId,
    /// Its name; empty until it has started.
    pub name: String,
    /// Where peers reach it.
    pub peer_urls: Vec<String>,
    /// Where clients reach it; empty until it has started.
    pub client_urls: Vec<String>,
    /// It has no vote.
    pub is_learner: bool,
}

/// The list in etcd's JSON.
pub fn to_json(members: &[Listed]) -> String {
    let one = |member: &Listed| {
        let mut value = json!({ "id": member.id.0, "peerURLs": member.peer_urls });
        if member.is_learner {
            value["isLearner"] = true.into();
        }
        if !member.name.is_empty() {
            value["name"] = member.name.clone().into();
        }
        if !member.client_urls.is_empty() {
            value["clientURLs"] = member.client_urls.clone().into();
        }
        value
    };
    format!("{}\n", Value::Array(members.iter().map(one).collect()))
}

/// Reads what `to_json` writes; `None` for anything else.
pub fn from_json(text: &[u8]) -> Option<Vec<Listed>> {
    let strings = |value: &Value| -> Option<Vec<String>> {
        match value {
            Value::Null => Some(Vec::new()),
            value => {
                value.as_array()?.iter().map(|item| Some(item.as_str()?.to_string())).collect()
            }
        }
    };
    let one = |value: &Value| {
        Some(Listed {
            id: MemberId(value["id"].as_u64()?),
            name: value["name"].as_str().unwrap_or_default().to_string(),
            peer_urls: strings(&value["peerURLs"])?,
            client_urls: strings(&value["clientURLs"])?,
            is_learner: value["isLearner"].as_bool().unwrap_or_default(),
        })
    };
    let parsed: Value = serde_json::from_slice(text).ok()?;
    parsed.as_array()?.iter().map(one).collect()
}

/// Asks each URL in turn; the first list that comes.
pub async fn fetch(urls: &[Url], patience: Duration) -> Option<(ClusterId, Vec<Listed>)> {
    for url in urls {
        match timeout(patience, fetch_one(url)).await {
            Ok(Ok(found)) => return Some(found),
            Ok(Err(error)) => {
                tracing::warn!(address = %format_args!("{url}{PATH}"), %error,
                    "failed to get cluster response");
            }
            Err(_) => {
                tracing::warn!(address = %format_args!("{url}{PATH}"), error = "timed out",
                    "failed to get cluster response");
            }
        }
    }
    None
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

async fn fetch_one(url: &Url) -> Result<(ClusterId, Vec<Listed>), Failed> {
    let (socket, authority) = dial(std::slice::from_ref(url)).await.map_err(|(_, error)| error)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
    let connection = tokio::task::spawn_local(connection);
    let request = http::Request::get(PATH).header("host", authority).body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    let id = answer.headers().get(CLUSTER_HEADER).and_then(|value| value.to_str().ok());
    let id = id.and_then(|id| u64::from_str_radix(id, 16).ok()).ok_or("no cluster ID")?;
    let body = Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await?.to_bytes();
    connection.abort();
    let members = from_json(&body).filter(|members| !members.is_empty()).ok_or("no members")?;
    Ok((ClusterId(id), members))
}

/// Gives each member of the first configuration the id that the running cluster knows it by.
pub fn match_ids(founders: &mut [crate::config::Founder], listed: &[Listed]) -> Result<(), String> {
    if founders.len() != listed.len() {
        return Err("member count is unequal".to_string());
    }
    for member in listed {
        let mut urls = member.peer_urls.clone();
        urls.sort();
        let found = founders.iter_mut().find(|founder| {
            let mut own = texts(&founder.urls);
            own.sort();
            own == urls
        });
        match found {
            Some(founder) => founder.id = member.id,
            None => {
                return Err(format!(
                    "PeerURLs: no match found for existing member ({:x}, [{}])",
                    member.id.0,
                    member.peer_urls.join(" ")
                ));
            }
        }
    }
    Ok(())
}
