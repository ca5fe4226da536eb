//! `txn`: compares and two lists of operations, from standard input.

use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::ffi::OsStringExt;

use bytes::Bytes;
use proto::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use proto::etcdserverpb::request_op::Request;
use proto::etcdserverpb::{Compare, RequestOp, TxnRequest};

use super::{del, get, open, put};
use crate::cli::{Invocation, parse_operation};
use crate::printers::Answer;
use crate::text::number::parse_int;
use crate::text::quote::{quote, unquote};
use crate::text::words;
use crate::{Failure, say};

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    if !invocation.args.is_empty() {
        return Err(Failure::bad_args("txn command does not accept argument"));
    }
    let session = open(invocation)?;
    let prompt = |text: &str| {
        if invocation.flags.is_on("interactive") {
            say(format!("{text}\n").as_bytes());
        }
    };
    let mut input = std::io::stdin().lock();
    prompt("compares:");
    let compare = read(&mut input, parse_compare)?;
    prompt("success requests (get, put, del):");
    let success = read(&mut input, parse_request)?;
    prompt("failure requests (get, put, del):");
    let failure = read(&mut input, parse_request)?;
    let request = TxnRequest { compare, success, failure };
    let answer = session.client.txn(&request, &session.patient_call()).await?;
    session.print(&Answer::Txn(&answer))
}

fn invalid(text: impl Into<String>) -> Failure {
    Failure::new(Failure::INVALID_INPUT, text)
}

/// Reads lines up to an empty one.
fn read<T>(
    input: &mut impl BufRead,
    parse: impl Fn(&str) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut items = Vec::new();
    loop {
        let mut line = Vec::new();
        let read =
            input.read_until(b'\n', &mut line).map_err(|error| invalid(error.to_string()))?;
        if read == 0 || line.last() != Some(&b'\n') {
            return Err(invalid("EOF"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            return Ok(items);
        }
        items.push(parse(line)?);
    }
}

fn parse_request(line: &str) -> Result<RequestOp, Failure> {
    let words = words::split(line).map_err(invalid)?;
    if words.len() < 2 {
        return Err(invalid(format!("invalid txn compare request: {line}")));
    }
    let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
    let operation =
        parse_operation(&words).ok_or_else(|| invalid(format!("invalid txn request: {line}")))?;
    let request = match operation.command.name {
        "get" => Request::RequestRange(get::request(&operation)?),
        "put" => Request::RequestPut(put::request(&operation)?),
        _ => Request::RequestDeleteRange(del::request(&operation)?),
    };
    Ok(RequestOp { request: Some(request) })
}

/// Reads `target("key") op "value"`.
pub(crate) fn parse_compare(line: &str) -> Result<Compare, Failure> {
    let malformed = || invalid(format!("malformed comparison: {line}"));
    let (target, rest) = line.split_once('(').ok_or_else(malformed)?;
    let (key, rest) = unquote(rest.trim_start()).ok_or_else(malformed)?;
    let rest = rest.strip_prefix(')').ok_or_else(malformed)?.trim_start();
    let (op, rest) = rest.split_once(char::is_whitespace).ok_or_else(malformed)?;
    let (value, _) = unquote(rest.trim_start()).ok_or_else(malformed)?;
    let number = || {
        parse_int(&String::from_utf8_lossy(&value), 10)
            .map_err(|_| invalid(format!("invalid txn compare request: {line}")))
    };
    let (target, union) = match target {
        "ver" | "version" => (CompareTarget::Version, TargetUnion::Version(number()?)),
        "c" | "create" => (CompareTarget::Create, TargetUnion::CreateRevision(number()?)),
        "m" | "mod" => (CompareTarget::Mod, TargetUnion::ModRevision(number()?)),
        "val" | "value" => (CompareTarget::Value, TargetUnion::Value(Bytes::from(value.clone()))),
        "lease" => (CompareTarget::Lease, TargetUnion::Lease(number()?)),
        _ => {
            let text = format!("malformed comparison: {line} (unknown target {target})");
            return Err(invalid(text));
        }
    };
    let result = match op {
        "=" => CompareResult::Equal,
        "!=" => CompareResult::NotEqual,
        ">" => CompareResult::Greater,
        "<" => CompareResult::Less,
        _ => {
            let text = format!("Unknown result op {}", quote(op.as_bytes()));
            return Err(Failure::new(Failure::BAD_CONNECTION, text));
        }
    };
    Ok(Compare {
        result: result.into(),
        target: target.into(),
        key: key.into(),
        range_end: Bytes::new(),
        target_union: Some(union),
    })
}
