//! Texts of `--help`, `--version` and of a command line that cannot be read.

use super::flags::{FLAGS, Kind, Support};
use std::fmt::Write;

/// Version that is reported everywhere: the etcd release whose behaviour this build has.
pub const SERVER_VERSION: &str = "3.7.3";

/// Printed after the reason when the command line cannot be read.
pub(super) fn short() -> String {
    "Usage:\n\n  \
     etcd [flags]\n    Serve.\n\n  \
     etcd --version\n    Print the version.\n\n  \
     etcd -h | --help\n    Print every flag.\n\n  \
     etcd --config-file FILE\n    Read all options from a file; other flags and the environment \
     are then passed over.\n    Durations in it are whole numbers of nanoseconds.\n"
        .to_string()
}

/// The text of `--version`.
pub(super) fn version() -> String {
    format!(
        "etcd Version: {SERVER_VERSION}\nGit SHA: Mainstay {}\nGo Version: none (Rust)\n\
         Go OS/Arch: {}/{}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    )
}

/// The text of `--help`.
pub(super) fn full() -> String {
    let mut text = short();
    text.push_str("\nFlags:\n");
    for flag in FLAGS {
        let value = if flag.kind == Kind::Bool && flag.default == "false" {
            String::new()
        } else {
            format!(" '{}'", flag.default)
        };
        let note = match flag.support {
            Support::Works => String::new(),
            Support::NoEffect => " (no effect)".to_string(),
            Support::Later(why) => format!(" (not yet: {why})"),
        };
        writeln!(text, "  --{}{value}\n    {}{note}.", flag.name, flag.help)
            .expect("writing to a string cannot fail");
    }
    text
}
