//! Commands of etcdctl that this build does not have: they say so.

use crate::Failure;
use crate::cli::Invocation;

const ABSENT: [&str; 14] = [
    "add",
    "auth",
    "check",
    "completion",
    "downgrade",
    "make-mirror",
    "move-leader",
    "promote",
    "remove",
    "role",
    "snapshot",
    "update",
    "user",
    "help",
];

/// Whether the command is only a name here.
pub(super) fn is_absent(invocation: &Invocation) -> bool {
    ABSENT.contains(&invocation.command.name)
}

/// What such a command ends with.
pub(super) fn refusal(invocation: &Invocation) -> Failure {
    let name = invocation.command.name;
    let name = match name {
        "add" | "promote" | "remove" | "update" => format!("member {name}"),
        _ => name.to_owned(),
    };
    Failure::new(Failure::ERROR, format!("command {name:?} is not part of this build"))
}
