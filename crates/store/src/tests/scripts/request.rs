//! Requests from the words of a script.

use crate::MemberRow;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use prost::Message as _;
use proto::etcdserverpb as pb;
use proto::log::Kind;
use proto::membershippb;
use proto::request::Request;
use script::Command;
use types::{KeyRange, MemberId};

/// The interval of `KEY [END]` at a position.
pub(super) fn range(command: &Command, at: usize) -> Result<KeyRange> {
    Ok(KeyRange::new(bytes(command.arg(at)?), end(command, at + 1)))
}

fn bytes(text: &str) -> Bytes {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("a byte")).collect()
}

/// An end of an interval, if the word there is one and no flag.
fn end(command: &Command, at: usize) -> Bytes {
    let flags = ["prev", "ignore_value", "ignore_lease"];
    let word = command.args.get(at).filter(|word| !flags.contains(&word.as_str()));
    word.map_or(Bytes::new(), |word| bytes(word))
}

/// The entry that a command applies; none if it is no request.
pub(super) fn entry(command: &Command) -> Result<Option<(Kind, Bytes)>> {
    let request = |kind, request: Vec<u8>| Ok(Some((kind, Bytes::from(request))));
    match command.name.as_str() {
        "put" => request(Kind::Put, put(command, 0)?.encode_to_vec()),
        "del" => request(Kind::DeleteRange, delete(command, 0)?.encode_to_vec()),
        "compact" => {
            let revision = command.parse_arg(0)?;
            let compaction = pb::CompactionRequest { revision, physical: false };
            request(Kind::Compaction, compaction.encode_to_vec())
        }
        "grant" => {
            let (id, ttl) = (command.parse_arg(0)?, command.parse_arg(1)?);
            request(Kind::LeaseGrant, pb::LeaseGrantRequest { id, ttl }.encode_to_vec())
        }
        "revoke" => {
            let id = command.parse_arg(0)?;
            request(Kind::LeaseRevoke, pb::LeaseRevokeRequest { id }.encode_to_vec())
        }
        "checkpoint" => {
            let (id, remaining_ttl) = (command.parse_arg(0)?, command.parse_arg(1)?);
            let checkpoints = vec![pb::LeaseCheckpoint { id, remaining_ttl }];
            let checkpoint = pb::LeaseCheckpointRequest { checkpoints };
            request(Kind::LeaseCheckpoint, checkpoint.encode_to_vec())
        }
        "alarm" => {
            let action = word_of(&["list", "raise", "clear"], command.arg(0)?)?;
            let member_id = command.parse_arg(1)?;
            let alarm = word_of(&["none", "nospace", "corrupt"], command.arg(2)?)?;
            request(Kind::Alarm, pb::AlarmRequest { action, member_id, alarm }.encode_to_vec())
        }
        "publish" => {
            let member_id = command.parse_arg(0)?;
            let name = command.arg(1)?.to_owned();
            let client_urls = command.args[2..].to_vec();
            let member_attributes = Some(membershippb::Attributes { name, client_urls });
            let publish =
                membershippb::ClusterMemberAttrSetRequest { member_id, member_attributes };
            request(Kind::ClusterMemberAttrSet, publish.encode_to_vec())
        }
        "version" => {
            let version =
                membershippb::ClusterVersionSetRequest { ver: command.arg(0)?.to_owned() };
            request(Kind::ClusterVersionSet, version.encode_to_vec())
        }
        "downgrade" => {
            let (ver, enabled) = (command.arg(0)?.to_owned(), command.arg(0)? != "off");
            let downgrade = membershippb::DowngradeInfoSetRequest { enabled, ver };
            request(Kind::DowngradeInfoSet, downgrade.encode_to_vec())
        }
        _ => Ok(None),
    }
}

/// A member of `member ID URL [learner]`.
pub(super) fn member(command: &Command) -> Result<MemberRow> {
    Ok(MemberRow {
        id: MemberId(command.parse_arg(0)?),
        peer_urls: vec![command.arg(1)?.to_owned()],
        is_learner: command.has("learner"),
        ..MemberRow::default()
    })
}

fn put(command: &Command, at: usize) -> Result<pb::PutRequest> {
    let (ignore_value, ignore_lease) = (command.has("ignore_value"), command.has("ignore_lease"));
    Ok(pb::PutRequest {
        key: bytes(command.arg(at)?),
        value: if ignore_value { Bytes::new() } else { value(command, at + 1)? },
        lease: command.parse_option("lease", 0)?,
        prev_kv: command.has("prev"),
        ignore_value,
        ignore_lease,
    })
}

/// The value; `*N` are N bytes.
fn value(command: &Command, at: usize) -> Result<Bytes> {
    let word = command.arg(at)?;
    match word.strip_prefix('*') {
        Some(len) => Ok(vec![b'v'; len.parse()?].into()),
        None => Ok(bytes(word)),
    }
}

fn delete(command: &Command, at: usize) -> Result<pb::DeleteRangeRequest> {
    let (key, range_end) = (bytes(command.arg(at)?), end(command, at + 1));
    Ok(pb::DeleteRangeRequest { key, range_end, prev_kv: command.has("prev") })
}

fn word_of(words: &[&str], word: &str) -> Result<i32> {
    let at = words.iter().position(|known| *known == word);
    let at = at.with_context(|| format!("{word} is none of {words:?}"))?;
    Ok(i32::try_from(at)?)
}

/// A transaction that is being written down: the innermost nested one is the last.
#[derive(Default)]
pub(super) struct OpenTxn {
    /// Each with the branch of its parent that it is in.
    stack: Vec<(pb::TxnRequest, bool)>,
}

impl OpenTxn {
    /// Takes one line of it.
    pub(super) fn line(&mut self, command: &Command) -> Result<()> {
        if self.stack.is_empty() {
            self.stack.push(Default::default());
        }
        match command.name.as_str() {
            "if" => self.top().compare.push(compare(command)?),
            "end" => {
                ensure!(1 < self.stack.len(), "no nested transaction is open");
                let (nested, succeeds) = self.stack.pop().context("one is open")?;
                self.push(succeeds, pb::request_op::Request::RequestTxn(nested));
            }
            branch => {
                let succeeds = branch == "then";
                let request = match command.arg(0)? {
                    "put" => pb::request_op::Request::RequestPut(put(command, 1)?),
                    "del" => pb::request_op::Request::RequestDeleteRange(delete(command, 1)?),
                    "get" => pb::request_op::Request::RequestRange(pb::RangeRequest {
                        key: bytes(command.arg(1)?),
                        range_end: end(command, 2),
                        revision: command.parse_option("rev", 0)?,
                        ..Default::default()
                    }),
                    "txn" => {
                        self.stack.push((pb::TxnRequest::default(), succeeds));
                        return Ok(());
                    }
                    other => bail!("no such operation: {other}"),
                };
                self.push(succeeds, request);
            }
        }
        Ok(())
    }

    /// The whole, encoded; nothing is open afterwards.
    pub(super) fn take(&mut self) -> Result<Bytes> {
        ensure!(self.stack.len() < 2, "a nested transaction is open");
        let (txn, _) = self.stack.pop().unwrap_or_default();
        Ok(txn.encode_to_vec().into())
    }

    /// What the quota counts for it; it stays open.
    pub(super) fn cost(&self) -> Result<i64> {
        ensure!(self.stack.len() == 1, "a transaction is open");
        let body = self.stack[0].0.encode_to_vec().into();
        match proto::request::decode(Kind::Txn, &body)? {
            Request::Txn(op) => Ok(crate::txn_cost(&op)),
            other => bail!("{other:?} is no transaction"),
        }
    }

    fn top(&mut self) -> &mut pb::TxnRequest {
        &mut self.stack.last_mut().expect("a line opens one").0
    }

    fn push(&mut self, succeeds: bool, request: pb::request_op::Request) {
        let op = pb::RequestOp { request: Some(request) };
        let txn = self.top();
        if succeeds { txn.success.push(op) } else { txn.failure.push(op) }
    }
}

/// `KEY [END] TARGET RESULT GIVEN`.
fn compare(command: &Command) -> Result<pb::Compare> {
    use pb::compare::TargetUnion;
    let args = &command.args;
    ensure!(4 <= args.len(), "if KEY [END] TARGET RESULT GIVEN");
    let [target, result, given] = &args[args.len() - 3..] else { bail!("three words") };
    let number = || given.parse::<i64>().with_context(|| format!("{given} is no number"));
    let (target, union) = match target.as_str() {
        "version" => (0, TargetUnion::Version(number()?)),
        "create" => (1, TargetUnion::CreateRevision(number()?)),
        "mod" => (2, TargetUnion::ModRevision(number()?)),
        "value" => (3, TargetUnion::Value(bytes(given))),
        "lease" => (4, TargetUnion::Lease(number()?)),
        other => bail!("no such target: {other}"),
    };
    Ok(pb::Compare {
        result: word_of(&["equal", "greater", "less", "unequal"], result)?,
        target,
        key: bytes(&args[0]),
        range_end: if args.len() == 5 { bytes(&args[1]) } else { Bytes::new() },
        target_union: Some(union),
    })
}
