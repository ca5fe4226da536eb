//! `defrag`

use std::time::Instant;

use super::open;
use crate::cli::Invocation;
use crate::session::status_text;
use crate::text::duration;
use crate::{Failure, complain, say};

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let session = open(invocation)?;
    let mut has_failed = false;
    for endpoint in session.each_endpoint(invocation.flags.is_on("cluster")).await? {
        let client = session.client_of(&endpoint)?;
        let start = Instant::now();
        let done = client.defragment(&session.call()).await;
        let took = duration::format(start.elapsed());
        match done {
            Ok(_) => {
                say(format!("Finished defragmenting etcd member[{endpoint}]. took {took}\n")
                    .as_bytes())
            }
            Err(status) => {
                let why = status_text(&status);
                complain(&format!(
                    "Failed to defragment etcd member[{endpoint}]. took {took}. ({why})"
                ));
                has_failed = true;
            }
        }
    }
    if has_failed { Err(Failure::silent(Failure::ERROR)) } else { Ok(()) }
}
