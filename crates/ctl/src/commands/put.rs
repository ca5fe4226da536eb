//! `put`

use std::io::Read;

use bytes::Bytes;
use proto::etcdserverpb::PutRequest;

use super::open;
use crate::Failure;
use crate::cli::Invocation;
use crate::printers::Answer;
use crate::text::number::parse_int;

const NEEDS: &str = "put command needs 1 argument and input from stdin or 2 arguments";

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let request = request(invocation)?;
    let session = open(invocation)?;
    let answer = session.client.put(&request, &session.call()).await?;
    session.print(&Answer::Put(&answer))
}

/// The request that arguments, flags and standard input ask for.
pub(super) fn request(invocation: &Invocation) -> Result<PutRequest, Failure> {
    let flags = &invocation.flags;
    if invocation.args.is_empty() {
        return Err(Failure::bad_args(NEEDS));
    }
    let ignore_value = flags.is_on("ignore-value");
    if ignore_value && invocation.args.len() > 1 {
        return Err(Failure::bad_args(
            "put command needs only 1 argument when 'ignore-value' is set",
        ));
    }
    let value = match (ignore_value, invocation.args.len()) {
        (true, _) => Bytes::new(),
        (false, 1) => from_stdin()?,
        (false, _) => invocation.bytes(1),
    };
    let lease = parse_int(flags.text("lease"), 16)
        .map_err(|why| Failure::bad_args(format!("bad lease ID ({why}), expecting ID in Hex")))?;
    Ok(PutRequest {
        key: invocation.bytes(0),
        value,
        lease,
        prev_kv: flags.is_on("prev-kv"),
        ignore_value,
        ignore_lease: flags.is_on("ignore-lease"),
    })
}

fn from_stdin() -> Result<Bytes, Failure> {
    let mut value = Vec::new();
    match std::io::stdin().read_to_end(&mut value) {
        Ok(length) if length > 0 => Ok(value.into()),
        _ => Err(Failure::bad_args(NEEDS)),
    }
}
