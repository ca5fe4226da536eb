//! `member list`

use super::open;
use crate::Failure;
use crate::cli::Invocation;
use crate::printers::Answer;
use crate::session::is_serializable;

pub(super) async fn list(invocation: &Invocation) -> Result<(), Failure> {
    let serializable = is_serializable(invocation.flags.text("consistency"))?;
    let session = open(invocation)?;
    let answer = session.client.member_list(!serializable, &session.call()).await?;
    session.print(&Answer::Members(&answer))
}
