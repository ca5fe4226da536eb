//! `del`

use std::time::Duration;

use proto::etcdserverpb::DeleteRangeRequest;

use super::{key_range, open, prefix_or_from_key};
use crate::cli::Invocation;
use crate::printers::Answer;
use crate::text::quote::quote;
use crate::{Failure, complain};

/// Time to think before a range is deleted that was not called one.
const GRACE: Duration = Duration::from_secs(2);

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let request = request(invocation)?;
    let session = open(invocation)?;
    let answer = session.client.delete_range(&request, &session.call()).await?;
    session.print(&Answer::Delete(&answer))
}

/// The request that arguments and flags ask for; waits where the range is not confirmed.
pub(super) fn request(invocation: &Invocation) -> Result<DeleteRangeRequest, Failure> {
    if invocation.args.is_empty() || invocation.args.len() > 2 {
        return Err(Failure::bad_args(
            "del command needs one argument as key and an optional argument as range_end",
        ));
    }
    prefix_or_from_key(invocation)?;
    let (key, range_end) = key_range(invocation)?;
    if invocation.args.len() > 1 && !invocation.flags.is_on("range") {
        complain(&format!(
            "Warning: Keys between {} and {} will be deleted. Please interrupt the command \
             within next 2 seconds to cancel. You can provide `--range` flag to avoid the delay.",
            quote(&key),
            quote(&range_end)
        ));
        std::thread::sleep(GRACE);
    }
    Ok(DeleteRangeRequest { key, range_end, prev_kv: invocation.flags.is_on("prev-kv") })
}
