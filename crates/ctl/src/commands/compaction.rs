//! `compaction`

use proto::etcdserverpb::CompactionRequest;

use super::open;
use crate::cli::Invocation;
use crate::text::number::parse_int;
use crate::{Failure, say};

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    if invocation.args.len() != 1 {
        return Err(Failure::bad_args("compaction command needs 1 argument"));
    }
    let revision =
        parse_int(&invocation.text(0), 10).map_err(|text| Failure::new(Failure::ERROR, text))?;
    let session = open(invocation)?;
    let request = CompactionRequest { revision, physical: invocation.flags.is_on("physical") };
    session.client.compact(&request, &session.call()).await?;
    say(format!("compacted revision {revision}\n").as_bytes());
    Ok(())
}
