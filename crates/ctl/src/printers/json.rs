//! One line of JSON per answer, as Go encodes etcd's structs: fields in their order, zero
//! fields left out, bytes in base64, numbers as numbers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proto::etcdserverpb::response_op::Response;
use proto::etcdserverpb::{
    DeleteRangeResponse, HashKvResponse, LeaseTimeToLiveResponse, Member, PutResponse,
    RangeResponse, ResponseHeader, ResponseOp, StatusResponse, TxnResponse, WatchResponse,
};
use proto::mvccpb::{Event, KeyValue};

use super::{Answer, Display, Health};

pub(super) fn print(display: &Display, answer: &Answer<'_>, out: &mut Vec<u8>) {
    let text = match answer {
        Answer::Range(answer) => range(answer),
        Answer::Put(answer) => put(answer),
        Answer::Delete(answer) => delete(answer),
        Answer::Txn(answer) => txn(answer),
        Answer::Watch(answer) => watch(answer),
        Answer::Grant(answer) => {
            let object = inline(answer.header).always("ID", answer.id).always("TTL", answer.ttl);
            object.always("Error", string(&answer.error)).end()
        }
        Answer::Revoke(_, answer) => headed(answer.header).end(),
        Answer::KeepAlive(answer) => {
            inline(answer.header).always("ID", answer.id).always("TTL", answer.ttl).end()
        }
        Answer::TimeToLive(answer, _) => time_to_live(answer),
        Answer::Leases(answer) => {
            let ids = answer.leases.iter().map(|lease| Object::new().always("id", lease.id).end());
            inline(answer.header).always("leases", array(ids)).end()
        }
        Answer::Members(answer) if display.is_hex => {
            let members = answer.members.iter().map(|one| member(one, string(&hex(one.id))));
            let header = answer.header.unwrap_or_default();
            let header = Object::new()
                .always("cluster_id", string(&hex(header.cluster_id)))
                .always("member_id", string(&hex(header.member_id)))
                .number("revision", header.revision)
                .number("raft_term", header.raft_term)
                .end();
            Object::new().always("header", header).always("members", array(members)).end()
        }
        Answer::Members(answer) => {
            let members = answer.members.iter().map(|one| member(one, one.id.to_string()));
            headed(answer.header).list("members", members).end()
        }
        Answer::Alarms(answer) => {
            let alarms = answer.alarms.iter().map(|alarm| {
                let object = Object::new().number("memberID", alarm.member_id);
                object.number("alarm", alarm.alarm).end()
            });
            headed(answer.header).list("alarms", alarms).end()
        }
        Answer::Health(list) => nullable(list.iter().map(health)),
        Answer::Status(list) => nullable(list.iter().map(|(endpoint, answer)| {
            let object = Object::new().always("Endpoint", string(endpoint));
            object.always("Status", status(answer)).end()
        })),
        Answer::HashKv(list) => nullable(list.iter().map(|(endpoint, answer)| {
            let object = Object::new().always("Endpoint", string(endpoint));
            object.always("HashKV", hash_kv(answer)).end()
        })),
    };
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// An object in the making.
struct Object {
    text: String,
}

impl Object {
    fn new() -> Object {
        Object { text: "{".to_owned() }
    }

    /// A field that is always there; the value is JSON.
    fn always(mut self, name: &str, value: impl std::fmt::Display) -> Object {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text += &format!("\"{name}\":{value}");
        self
    }

    /// A number that is left out when zero.
    fn number<N: std::fmt::Display + PartialEq + Default>(self, name: &str, value: N) -> Object {
        if value == N::default() { self } else { self.always(name, value) }
    }

    /// A boolean that is left out when false.
    fn flag(self, name: &str, value: bool) -> Object {
        if value { self.always(name, true) } else { self }
    }

    /// Bytes that are left out when empty.
    fn bytes(self, name: &str, value: &[u8]) -> Object {
        if value.is_empty() { self } else { self.always(name, base64(value)) }
    }

    /// A string that is left out when empty.
    fn text(self, name: &str, value: &str) -> Object {
        if value.is_empty() { self } else { self.always(name, string(value)) }
    }

    /// A list that is left out when empty.
    fn list(self, name: &str, items: impl ExactSizeIterator<Item = String>) -> Object {
        if items.len() == 0 { self } else { self.always(name, array(items)) }
    }

    /// An object that is left out when missing.
    fn object(self, name: &str, value: Option<String>) -> Object {
        match value {
            Some(value) => self.always(name, value),
            None => self,
        }
    }

    fn end(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// A Go slice: `null` where it is empty.
fn nullable(items: impl ExactSizeIterator<Item = String>) -> String {
    if items.len() == 0 { "null".to_owned() } else { array(items) }
}

fn base64(bytes: &[u8]) -> String {
    format!("\"{}\"", STANDARD.encode(bytes))
}

fn hex(id: u64) -> String {
    format!("{id:x}")
}

/// A JSON string as Go writes it, with `<`, `>` and `&` escaped.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{0}'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

fn header_fields(object: Object, header: ResponseHeader) -> Object {
    object
        .number("cluster_id", header.cluster_id)
        .number("member_id", header.member_id)
        .number("revision", header.revision)
        .number("raft_term", header.raft_term)
}

/// An object that begins with a header of its own.
fn headed(header: Option<ResponseHeader>) -> Object {
    Object::new().object("header", header.map(|header| header_fields(Object::new(), header).end()))
}

/// An object that begins with the header's fields.
fn inline(header: Option<ResponseHeader>) -> Object {
    header_fields(Object::new(), header.unwrap_or_default())
}

fn kv(kv: &KeyValue) -> String {
    Object::new()
        .bytes("key", &kv.key)
        .number("create_revision", kv.create_revision)
        .number("mod_revision", kv.mod_revision)
        .number("version", kv.version)
        .bytes("value", &kv.value)
        .number("lease", kv.lease)
        .end()
}

fn range(answer: &RangeResponse) -> String {
    headed(answer.header)
        .list("kvs", answer.kvs.iter().map(kv))
        .flag("more", answer.more)
        .number("count", answer.count)
        .end()
}

fn put(answer: &PutResponse) -> String {
    headed(answer.header).object("prev_kv", answer.prev_kv.as_ref().map(kv)).end()
}

fn delete(answer: &DeleteRangeResponse) -> String {
    headed(answer.header)
        .number("deleted", answer.deleted)
        .list("prev_kvs", answer.prev_kvs.iter().map(kv))
        .end()
}

fn txn(answer: &TxnResponse) -> String {
    headed(answer.header)
        .flag("succeeded", answer.succeeded)
        .list("responses", answer.responses.iter().map(response))
        .end()
}

fn response(operation: &ResponseOp) -> String {
    let object = Object::new();
    let object = match &operation.response {
        Some(Response::ResponseRange(part)) => object.always("response_range", range(part)),
        Some(Response::ResponsePut(part)) => object.always("response_put", put(part)),
        Some(Response::ResponseDeleteRange(part)) => {
            object.always("response_delete_range", delete(part))
        }
        Some(Response::ResponseTxn(part)) => object.always("response_txn", txn(part)),
        None => object,
    };
    Object::new().always("Response", object.end()).end()
}

fn watch(answer: &WatchResponse) -> String {
    let header = answer.header.map(|header| header_fields(Object::new(), header).end());
    Object::new()
        .always("Header", header.unwrap_or_else(|| "null".to_owned()))
        .always("Events", nullable(answer.events.iter().map(event)))
        .always("CompactRevision", answer.compact_revision)
        .always("Canceled", answer.canceled)
        .always("Created", answer.created)
        .always("CancelReason", string(&answer.cancel_reason))
        .end()
}

fn event(event: &Event) -> String {
    Object::new()
        .number("type", event.r#type)
        .object("kv", event.kv.as_ref().map(kv))
        .object("prev_kv", event.prev_kv.as_ref().map(kv))
        .end()
}

fn time_to_live(answer: &LeaseTimeToLiveResponse) -> String {
    inline(answer.header)
        .always("id", answer.id)
        .always("ttl", answer.ttl)
        .always("granted-ttl", answer.granted_ttl)
        .always("keys", nullable(answer.keys.iter().map(|key| base64(key))))
        .end()
}

fn member(member: &Member, id: String) -> String {
    Object::new()
        .always("ID", id)
        .text("name", &member.name)
        .list("peerURLs", member.peer_ur_ls.iter().map(|url| string(url)))
        .list("clientURLs", member.client_ur_ls.iter().map(|url| string(url)))
        .flag("isLearner", member.is_learner)
        .end()
}

fn health(health: &Health) -> String {
    Object::new()
        .always("endpoint", string(&health.endpoint))
        .always("health", health.error.is_empty())
        .always("took", string(&health.took))
        .text("error", &health.error)
        .end()
}

fn status(answer: &StatusResponse) -> String {
    let downgrade = answer.downgrade_info.as_ref().map(|info| {
        Object::new()
            .flag("enabled", info.enabled)
            .text("targetVersion", &info.target_version)
            .end()
    });
    headed(answer.header)
        .text("version", &answer.version)
        .number("dbSize", answer.db_size)
        .number("leader", answer.leader)
        .number("raftIndex", answer.raft_index)
        .number("raftTerm", answer.raft_term)
        .number("raftAppliedIndex", answer.raft_applied_index)
        .list("errors", answer.errors.iter().map(|error| string(error)))
        .number("dbSizeInUse", answer.db_size_in_use)
        .flag("isLearner", answer.is_learner)
        .text("storageVersion", &answer.storage_version)
        .number("dbSizeQuota", answer.db_size_quota)
        .object("downgradeInfo", downgrade)
        .end()
}

fn hash_kv(answer: &HashKvResponse) -> String {
    headed(answer.header)
        .number("hash", answer.hash)
        .number("compact_revision", answer.compact_revision)
        .number("hash_revision", answer.hash_revision)
        .end()
}
