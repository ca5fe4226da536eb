//! What a command is, and the root of all commands.

use super::flags::Flag;
use super::listing;

/// One command, or a family of commands.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// The line after `Usage:`, from the command's own name on.
    pub(crate) usage: &'static str,
    pub(crate) short: &'static str,
    /// Where it differs from `short`.
    pub(crate) long: &'static str,
    pub(crate) group: Group,
    pub(crate) flags: &'static [Flag],
    /// Flags of this command and of those below it.
    pub(crate) persistent: &'static [Flag],
    pub(crate) subs: &'static [Command],
}

/// Under which title of the main help a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    KeyValue,
    Maintenance,
    Concurrency,
    Authentication,
    Utility,
}

/// The titles, in order.
pub(crate) const GROUPS: [(Group, &str); 5] = [
    (Group::KeyValue, "Key-value commands"),
    (Group::Maintenance, "Cluster maintenance commands"),
    (Group::Concurrency, "Concurrency commands"),
    (Group::Authentication, "Authentication commands"),
    (Group::Utility, "Utility commands"),
];

impl Command {
    pub(super) const fn new(
        name: &'static str,
        usage: &'static str,
        short: &'static str,
    ) -> Command {
        Command {
            name,
            usage,
            short,
            long: "",
            group: Group::KeyValue,
            flags: &[],
            persistent: &[],
            subs: &[],
        }
    }

    pub(super) const fn long(mut self, long: &'static str) -> Command {
        self.long = long;
        self
    }

    pub(super) const fn group(mut self, group: Group) -> Command {
        self.group = group;
        self
    }

    pub(super) const fn flags(mut self, flags: &'static [Flag]) -> Command {
        self.flags = flags;
        self
    }

    pub(super) const fn persistent(mut self, flags: &'static [Flag]) -> Command {
        self.persistent = flags;
        self
    }

    pub(super) const fn subs(mut self, subs: &'static [Command]) -> Command {
        self.subs = subs;
        self
    }

    /// The sub-command of this name, or the only one that begins with it.
    pub(crate) fn sub(&self, name: &str) -> Option<&'static Command> {
        if let Some(exact) = self.subs.iter().find(|sub| sub.name == name) {
            return Some(exact);
        }
        let mut begins = self.subs.iter().filter(|sub| sub.name.starts_with(name));
        begins.next().filter(|_| !name.is_empty() && begins.next().is_none())
    }
}

/// The root of the tree.
pub(crate) static ROOT: Command =
    Command::new("etcdctl", "etcdctl", "A simple command line client for etcd3.")
        .persistent(listing::GLOBAL)
        .subs(listing::COMMANDS);
