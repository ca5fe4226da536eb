//! `"Name" : value` lines.

use std::io::Write;

use proto::etcdserverpb::ResponseHeader;
use proto::etcdserverpb::response_op::Response;
use proto::mvccpb::KeyValue;

use super::simple::{alarm_type, event_type};
use super::{Answer, Display};
use crate::text::quote::quote;

/// Writes one line; a vector takes everything.
macro_rules! line {
    ($out:expr, $name:expr, $value:expr) => {
        let _ = writeln!($out, "\"{}\" : {}", $name, $value);
    };
}

pub(super) fn print(display: &Display, answer: &Answer<'_>, out: &mut Vec<u8>) {
    match answer {
        Answer::Range(answer) => {
            header(display, answer.header, out);
            kvs(display, "", &answer.kvs, out);
            line!(out, "More", answer.more);
            line!(out, "Count", answer.count);
        }
        Answer::Put(answer) => {
            header(display, answer.header, out);
            kvs(display, "Prev", answer.prev_kv.iter(), out);
        }
        Answer::Delete(answer) => {
            header(display, answer.header, out);
            line!(out, "Deleted", answer.deleted);
            kvs(display, "Prev", &answer.prev_kvs, out);
        }
        Answer::Txn(answer) => {
            header(display, answer.header, out);
            line!(out, "Succeeded", answer.succeeded);
            for operation in &answer.responses {
                match &operation.response {
                    Some(Response::ResponseRange(part)) => {
                        print(display, &Answer::Range(part), out);
                    }
                    Some(Response::ResponsePut(part)) => print(display, &Answer::Put(part), out),
                    Some(Response::ResponseDeleteRange(part)) => {
                        print(display, &Answer::Delete(part), out);
                    }
                    Some(Response::ResponseTxn(_)) | None => {
                        line!(out, "Unknown", "\"\"");
                    }
                }
            }
        }
        Answer::Watch(answer) => {
            header(display, answer.header, out);
            for event in &answer.events {
                line!(out, "Type", event_type(event.r#type));
                kvs(display, "Prev", event.prev_kv.iter(), out);
                kvs(display, "", [&event.kv.clone().unwrap_or_default()], out);
            }
        }
        Answer::Members(_)
        | Answer::Alarms(_)
        | Answer::Health(_)
        | Answer::Status(_)
        | Answer::HashKv(_) => cluster(display, answer, out),
        _ => lease(display, answer, out),
    }
}

fn lease(display: &Display, answer: &Answer<'_>, out: &mut Vec<u8>) {
    match answer {
        Answer::Grant(answer) => {
            header(display, answer.header, out);
            line!(out, "ID", lease_id(display, answer.id));
            line!(out, "TTL", answer.ttl);
        }
        Answer::Revoke(_, answer) => header(display, answer.header, out),
        Answer::KeepAlive(answer) => {
            header(display, answer.header, out);
            line!(out, "ID", lease_id(display, answer.id));
            line!(out, "TTL", answer.ttl);
        }
        Answer::TimeToLive(answer, _) => {
            header(display, answer.header, out);
            line!(out, "ID", lease_id(display, answer.id));
            line!(out, "TTL", answer.ttl);
            line!(out, "GrantedTTL", answer.granted_ttl);
            for key in &answer.keys {
                line!(out, "Key", quote(key));
            }
        }
        Answer::Leases(answer) => {
            header(display, answer.header, out);
            for lease in &answer.leases {
                line!(out, "ID", lease_id(display, lease.id));
            }
        }
        _ => unreachable!("the caller prints all others"),
    }
}

fn cluster(display: &Display, answer: &Answer<'_>, out: &mut Vec<u8>) {
    match answer {
        Answer::Members(answer) => {
            header(display, answer.header, out);
            for member in &answer.members {
                line!(out, "ID", member_id(display, member.id));
                line!(out, "Name", quote(member.name.as_bytes()));
                for url in &member.peer_ur_ls {
                    line!(out, "PeerURL", quote(url.as_bytes()));
                }
                for url in &member.client_ur_ls {
                    line!(out, "ClientURL", quote(url.as_bytes()));
                }
                line!(out, "IsLearner", member.is_learner);
                out.push(b'\n');
            }
        }
        Answer::Alarms(answer) => {
            header(display, answer.header, out);
            for alarm in &answer.alarms {
                line!(out, "MemberID", member_id(display, alarm.member_id));
                line!(out, "AlarmType", alarm_type(alarm.alarm));
                out.push(b'\n');
            }
        }
        Answer::Health(list) => {
            for health in *list {
                line!(out, "Endpoint", quote(health.endpoint.as_bytes()));
                line!(out, "Health", health.error.is_empty());
                line!(out, "Took", health.took);
                line!(out, "Error", health.error);
                out.push(b'\n');
            }
        }
        Answer::Status(list) => list.iter().for_each(|one| status(display, one, out)),
        Answer::HashKv(list) => {
            for (endpoint, answer) in *list {
                header(display, answer.header, out);
                line!(out, "Endpoint", quote(endpoint.as_bytes()));
                line!(out, "Hash", answer.hash);
                line!(out, "HashRevision", answer.hash_revision);
                out.push(b'\n');
            }
        }
        _ => unreachable!("the caller prints all others"),
    }
}

fn status(
    display: &Display,
    (endpoint, answer): &(String, proto::etcdserverpb::StatusResponse),
    out: &mut Vec<u8>,
) {
    let downgrade = answer.downgrade_info.clone().unwrap_or_default();
    header(display, answer.header, out);
    line!(out, "Version", quote(answer.version.as_bytes()));
    line!(out, "StorageVersion", quote(answer.storage_version.as_bytes()));
    line!(out, "DBSize", answer.db_size);
    line!(out, "DBSizeInUse", answer.db_size_in_use);
    line!(out, "DBSizeQuota", answer.db_size_quota);
    line!(out, "Leader", answer.leader);
    line!(out, "IsLearner", answer.is_learner);
    line!(out, "RaftIndex", answer.raft_index);
    line!(out, "RaftAppliedIndex", answer.raft_applied_index);
    line!(out, "Errors", format!("[{}]", answer.errors.join(" ")));
    line!(out, "Endpoint", quote(endpoint.as_bytes()));
    line!(out, "DowngradeTargetVersion", quote(downgrade.target_version.as_bytes()));
    line!(out, "DowngradeEnabled", downgrade.enabled);
    out.push(b'\n');
}

fn header(display: &Display, header: Option<ResponseHeader>, out: &mut Vec<u8>) {
    let header = header.unwrap_or_default();
    line!(out, "ClusterID", member_id(display, header.cluster_id));
    line!(out, "MemberID", member_id(display, header.member_id));
    if header.revision > 0 {
        line!(out, "Revision", header.revision);
    }
    line!(out, "RaftTerm", header.raft_term);
}

fn member_id(display: &Display, id: u64) -> String {
    if display.is_hex { format!("{id:x}") } else { id.to_string() }
}

fn lease_id(display: &Display, id: i64) -> String {
    if display.is_hex { format!("{id:016x}") } else { id.to_string() }
}

fn kvs<'a>(
    display: &Display,
    prefix: &str,
    kvs: impl IntoIterator<Item = &'a KeyValue>,
    out: &mut Vec<u8>,
) {
    for kv in kvs {
        line!(out, format!("{prefix}Key"), quote(&kv.key));
        line!(out, format!("{prefix}CreateRevision"), kv.create_revision);
        line!(out, format!("{prefix}ModRevision"), kv.mod_revision);
        line!(out, format!("{prefix}Version"), kv.version);
        line!(out, format!("{prefix}Value"), quote(&kv.value));
        line!(out, format!("{prefix}Lease"), lease_id(display, kv.lease));
    }
}
