//! Load generator and side-by-side comparison of etcd-compatible servers.
//!
//! ```text
//! cli        what to run
//! compare    two servers in turns, in one run -> report
//! rows/      one file per kind of load: prepare, load, measure
//!   window   one stretch of load: latencies, rate, the server's CPU and writes until it is quiet
//!   load     streams in a closed loop, or at a fixed rate with latency from the intended start
//! server     starts, pins, kills and restarts the process under test
//! procfs     what the kernel has counted for it
//! ```
//!
//! The generator runs on one thread pinned to a core of its own, with encoded requests and many
//! streams a connection, so that the server is the bottleneck. Its own cost is in every report.

mod cli;
mod compare;
mod load;
mod procfs;
mod report;
mod requests;
mod rows;
mod server;
mod window;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs one command line, without the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match cli::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_error(&format!("bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// One line on standard output.
pub(crate) fn say(line: &str) {
    // A reader that has gone away is no failure.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// One line on standard error.
pub(crate) fn say_error(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests;
