//! Membership changes as etcd puts them into the log: a `raftpb.ConfChange` with the member in JSON.

use crate::log::Malformed;
use bytes::Bytes;
use prost::Message;
use serde::{Deserialize, Serialize};
use types::MemberId;

/// A membership change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfChange {
    /// Id of the proposal, unique in the cluster; 0 if nobody waits for it.
    pub id: u64,
    /// Whom it is about.
    pub member: MemberId,
    /// What becomes of that member.
    pub action: Action,
}

/// What becomes of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// It joins as a voter.
    Add(Vec<String>),
    /// It joins without a vote.
    AddLearner(Vec<String>),
    /// A learner gets a vote.
    Promote,
    /// It leaves for good.
    Remove,
    /// It is reached elsewhere.
    Update(Vec<String>),
}

/// `raftpb.ConfChange`.
#[derive(Clone, PartialEq, Message)]
struct Wire {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint32, tag = "2")]
    kind: u32,
    #[prost(uint64, tag = "3")]
    node_id: u64,
    #[prost(bytes = "bytes", tag = "4")]
    context: Bytes,
}

const ADD: u32 = 0;
const REMOVE: u32 = 1;
const UPDATE: u32 = 2;
/// etcd's number for a learner that joins. Raft 0.7 reads the kinds of what it is offered and
/// refuses this one, so it is `ADD` with `isLearner` in our log; both are read.
const ADD_LEARNER: u32 = 3;

/// etcd's `membership.ConfigChangeContext`.
#[derive(Default, Serialize, Deserialize)]
struct Context {
    id: u64,
    #[serde(rename = "peerURLs")]
    peer_urls: Option<Vec<String>>,
    #[serde(rename = "isLearner", default, skip_serializing_if = "is_false")]
    is_learner: bool,
    #[serde(rename = "isPromote", default, skip_serializing_if = "is_false")]
    is_promote: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl ConfChange {
    /// The encoding.
    pub fn encode(&self) -> Bytes {
        let id = self.member.0;
        let urls = |urls: &Vec<String>| Some(urls.clone());
        let (kind, context) = match &self.action {
            Action::Add(to) => {
                (ADD, Some(Context { id, peer_urls: urls(to), ..Context::default() }))
            }
            Action::AddLearner(to) => {
                let context =
                    Context { id, peer_urls: urls(to), is_learner: true, is_promote: false };
                (ADD, Some(context))
            }
            Action::Promote => (ADD, Some(Context { id, is_promote: true, ..Context::default() })),
            Action::Remove => (REMOVE, None),
            Action::Update(to) => {
                (UPDATE, Some(Context { id, peer_urls: urls(to), ..Context::default() }))
            }
        };
        let json = |context| serde_json::to_vec(&context).expect("plain fields have a JSON form");
        let context = context.map(json).unwrap_or_default().into();
        Wire { id: self.id, kind, node_id: self.member.0, context }.encode_to_vec().into()
    }

    /// Takes a change apart.
    pub fn decode(data: &Bytes) -> Result<ConfChange, Malformed> {
        let wire = Wire::decode(data.clone()).map_err(|_| Malformed("membership change"))?;
        let (id, member) = (wire.id, MemberId(wire.node_id));
        if wire.kind == REMOVE {
            return Ok(ConfChange { id, member, action: Action::Remove });
        }
        let context: Context =
            serde_json::from_slice(&wire.context).map_err(|_| Malformed("member"))?;
        let urls = context.peer_urls.unwrap_or_default();
        let action = match (wire.kind, context.is_promote, context.is_learner) {
            (ADD, true, _) => Action::Promote,
            (ADD, false, false) => Action::Add(urls),
            (ADD, false, true) | (ADD_LEARNER, false, _) => Action::AddLearner(urls),
            (UPDATE, false, _) => Action::Update(urls),
            _ => return Err(Malformed("kind of membership change")),
        };
        Ok(ConfChange { id, member, action })
    }
}

#[cfg(test)]
mod tests;
