//! The command-line client: commands, flags, outputs and exit codes of etcdctl 3.7.
//!
//! ```text
//! cli/       command tree, flags and help as cobra and pflag have them
//! commands/  one file per command: arguments -> request -> answer
//! printers/  one file per output format
//! text/      how Go writes and reads strings, durations, sizes
//! session    client, display and timeout of one run, from flags and environment
//! ```

mod cli;
mod commands;
mod printers;
mod session;
mod text;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// A command that did not succeed: exit code and the text after `Error: `.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    /// `None` where everything has been said already.
    pub(crate) text: Option<String>,
}

impl Failure {
    pub(crate) const ERROR: u8 = 1;
    pub(crate) const BAD_CONNECTION: u8 = 2;
    pub(crate) const INVALID_INPUT: u8 = 3;
    pub(crate) const BAD_FEATURE: u8 = 4;
    pub(crate) const INTERRUPTED: u8 = 5;
    pub(crate) const BAD_ARGS: u8 = 128;

    pub(crate) fn new(code: u8, text: impl Into<String>) -> Failure {
        Failure { code, text: Some(text.into()) }
    }

    pub(crate) fn bad_args(text: impl Into<String>) -> Failure {
        Failure::new(Failure::BAD_ARGS, text)
    }

    pub(crate) fn silent(code: u8) -> Failure {
        Failure { code, text: None }
    }
}

impl From<client::Status> for Failure {
    fn from(status: client::Status) -> Failure {
        Failure::new(Failure::ERROR, session::status_text(&status))
    }
}

/// Runs one command line, without the program's name, and reports how it ended.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let Err(failure) = cli::run(&args) else { return ExitCode::SUCCESS };
    if let Some(text) = failure.text {
        complain(&format!("Error: {text}"));
    }
    ExitCode::from(failure.code)
}

/// Writes to standard output at once: a reader of a pipe sees each answer when it arrives.
pub(crate) fn say(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A reader that has gone away is no failure of the command.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Writes one line to standard error.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests;
