//! Lines for people: keys and values, one below the other.

use std::io::Write;

use proto::etcdserverpb::response_op::Response;
use proto::etcdserverpb::{AlarmType, RangeResponse, TxnResponse, WatchResponse};
use proto::mvccpb::KeyValue;
use proto::mvccpb::event::EventType;

use super::{Answer, Display, table};
use crate::complain;

/// Writes one line; a vector takes everything.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        let _ = writeln!($out, $($text)*);
    };
}

pub(super) fn print(display: &Display, answer: &Answer<'_>, out: &mut Vec<u8>) {
    match answer {
        Answer::Range(answer) => range(display, answer, out),
        Answer::Put(answer) => {
            line!(out, "OK");
            kvs(display, answer.prev_kv.iter(), out);
        }
        Answer::Delete(answer) => {
            line!(out, "{}", answer.deleted);
            kvs(display, &answer.prev_kvs, out);
        }
        Answer::Txn(answer) => txn(display, answer, out),
        Answer::Watch(answer) => watch(display, answer, out),
        Answer::Members(_) | Answer::Status(_) | Answer::HashKv(_) => {
            for row in table::rows(answer).unwrap_or_default() {
                line!(out, "{}", row.join(", "));
            }
        }
        Answer::Alarms(answer) => {
            for alarm in &answer.alarms {
                line!(out, "{}", alarm_text(alarm.member_id, alarm.alarm));
            }
        }
        Answer::Health(list) => {
            for health in *list {
                let endpoint = &health.endpoint;
                if health.error.is_empty() {
                    let done = "is healthy: successfully committed proposal";
                    line!(out, "{endpoint} {done}: took = {}", health.took);
                } else {
                    let failed = "is unhealthy: failed to commit proposal";
                    complain(&format!("{endpoint} {failed}: {}", health.error));
                }
            }
        }
        _ => lease(answer, out),
    }
}

fn lease(answer: &Answer<'_>, out: &mut Vec<u8>) {
    match answer {
        Answer::Grant(answer) => {
            line!(out, "lease {:016x} granted with TTL({}s)", answer.id, answer.ttl);
        }
        Answer::Revoke(id, _) => {
            line!(out, "lease {id:016x} revoked");
        }
        Answer::KeepAlive(answer) => {
            line!(out, "lease {:016x} keepalived with TTL({})", answer.id, answer.ttl);
        }
        Answer::TimeToLive(answer, _) if answer.granted_ttl == 0 && answer.ttl == -1 => {
            line!(out, "lease {:016x} already expired", answer.id);
        }
        Answer::TimeToLive(answer, with_keys) => {
            let (id, granted, ttl) = (answer.id, answer.granted_ttl, answer.ttl);
            let _ = write!(out, "lease {id:016x} granted with TTL({granted}s), remaining({ttl}s)");
            if *with_keys {
                out.extend_from_slice(b", attached keys([");
                out.extend_from_slice(&answer.keys.join(&b' '));
                out.extend_from_slice(b"])");
            }
            line!(out, "");
        }
        Answer::Leases(answer) => {
            line!(out, "found {} leases", answer.leases.len());
            for lease in &answer.leases {
                line!(out, "{:016x}", lease.id);
            }
        }
        _ => unreachable!("the caller prints all others"),
    }
}

fn range(display: &Display, answer: &RangeResponse, out: &mut Vec<u8>) {
    kvs(display, &answer.kvs, out);
}

fn kvs<'a>(display: &Display, kvs: impl IntoIterator<Item = &'a KeyValue>, out: &mut Vec<u8>) {
    for kv in kvs {
        if !display.is_value_only {
            bytes(display, &kv.key, out);
        }
        bytes(display, &kv.value, out);
    }
}

fn bytes(display: &Display, text: &[u8], out: &mut Vec<u8>) {
    if display.is_hex {
        for byte in text {
            let _ = write!(out, "\\x{byte:02x}");
        }
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'\n');
}

fn txn(display: &Display, answer: &TxnResponse, out: &mut Vec<u8>) {
    line!(out, "{}", if answer.succeeded { "SUCCESS" } else { "FAILURE" });
    for operation in &answer.responses {
        line!(out, "");
        match &operation.response {
            Some(Response::ResponseRange(answer)) => print(display, &Answer::Range(answer), out),
            Some(Response::ResponsePut(answer)) => print(display, &Answer::Put(answer), out),
            Some(Response::ResponseDeleteRange(answer)) => {
                print(display, &Answer::Delete(answer), out);
            }
            Some(Response::ResponseTxn(_)) | None => {
                line!(out, "unexpected response");
            }
        }
    }
}

fn watch(display: &Display, answer: &WatchResponse, out: &mut Vec<u8>) {
    for event in &answer.events {
        line!(out, "{}", event_type(event.r#type));
        kvs(display, event.prev_kv.iter(), out);
        kvs(display, [&event.kv.clone().unwrap_or_default()], out);
    }
}

/// The name of an event's type.
pub(crate) fn event_type(kind: i32) -> String {
    EventType::try_from(kind)
        .map_or_else(|_| kind.to_string(), |kind| kind.as_str_name().to_owned())
}

/// The name of an alarm.
pub(super) fn alarm_type(alarm: i32) -> String {
    AlarmType::try_from(alarm)
        .map_or_else(|_| alarm.to_string(), |alarm| alarm.as_str_name().to_owned())
}

fn alarm_text(member: u64, alarm: i32) -> String {
    let mut parts = Vec::new();
    if member != 0 {
        parts.push(format!("memberID:{member}"));
    }
    if alarm != 0 {
        parts.push(format!("alarm:{}", alarm_type(alarm)));
    }
    parts.join(" ")
}
