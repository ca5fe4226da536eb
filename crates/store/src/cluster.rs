//! The members as clients see them, the cluster version and the downgrade target.

use crate::Error;
use bytes::Bytes;
use prost::Message;
use proto::membershippb;
use std::collections::{BTreeMap, BTreeSet};
use types::MemberId;

/// A member.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MemberRow {
    /// Id.
    pub id: MemberId,
    /// Name; empty until it published itself.
    pub name: String,
    /// Where peers reach it.
    pub peer_urls: Vec<String>,
    /// Where clients reach it.
    pub client_urls: Vec<String>,
    /// True for a non-voting member.
    pub is_learner: bool,
}

impl MemberRow {
    pub(crate) fn key(id: MemberId) -> Bytes {
        Bytes::copy_from_slice(&id.0.to_be_bytes())
    }

    pub(crate) fn encode(&self) -> Bytes {
        let message = membershippb::Member {
            id: self.id.0,
            raft_attributes: Some(membershippb::RaftAttributes {
                peer_urls: self.peer_urls.clone(),
                is_learner: self.is_learner,
            }),
            member_attributes: Some(membershippb::Attributes {
                name: self.name.clone(),
                client_urls: self.client_urls.clone(),
            }),
        };
        message.encode_to_vec().into()
    }

    fn decode(value: &Bytes) -> Result<MemberRow, Error> {
        let message = membershippb::Member::decode(value.clone());
        let message = message.map_err(|_| Error::Table("members"))?;
        let raft = message.raft_attributes.unwrap_or_default();
        let member = message.member_attributes.unwrap_or_default();
        Ok(MemberRow {
            id: MemberId(message.id),
            name: member.name,
            peer_urls: raft.peer_urls,
            client_urls: member.client_urls,
            is_learner: raft.is_learner,
        })
    }
}

/// Key of the cluster version in its table.
pub(crate) const VERSION_KEY: &[u8] = b"version";
/// Key of the downgrade target in its table.
pub(crate) const DOWNGRADE_KEY: &[u8] = b"downgrade";

/// What the cluster agreed on about itself.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cluster {
    pub(crate) members: BTreeMap<MemberId, MemberRow>,
    pub(crate) removed: BTreeSet<MemberId>,
    pub(crate) version: Option<String>,
    pub(crate) downgrade: Option<String>,
}

impl Cluster {
    pub(crate) fn restore_member(&mut self, value: &Bytes) -> Result<(), Error> {
        let row = MemberRow::decode(value)?;
        self.members.insert(row.id, row);
        Ok(())
    }

    pub(crate) fn restore_removed(&mut self, key: &Bytes) -> Result<(), Error> {
        let id = key.as_ref().try_into().map_err(|_| Error::Table("removed members"))?;
        self.removed.insert(MemberId(u64::from_be_bytes(id)));
        Ok(())
    }

    pub(crate) fn restore_text(&mut self, key: &Bytes, value: &Bytes) -> Result<(), Error> {
        let text = String::from_utf8(value.to_vec()).map_err(|_| Error::Table("cluster"))?;
        match key.as_ref() {
            VERSION_KEY => self.version = Some(text),
            DOWNGRADE_KEY => self.downgrade = Some(text),
            _ => return Err(Error::Table("cluster")),
        }
        Ok(())
    }
}
