//! Load generator and side-by-side comparison of etcd-compatible servers.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one command line, without the program's name.
pub fn run(_: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(2)
}
