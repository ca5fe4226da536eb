//! The one binary: server, command-line client, load generator.
//!
//! Started under the name `etcd` or `etcdctl` it is that tool; else the first argument says what
//! to be.

mod serve;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: mainstay serve|ctl|bench [arguments]\n";

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let program = args.next().unwrap_or_default();
    let rest: Vec<OsString> = args.collect();
    match Path::new(&program).file_name().and_then(|name| name.to_str()) {
        Some("etcdctl") => return ctl::run(rest),
        Some("etcd") => return serve::run(&rest, false),
        _ => {}
    }
    let (tool, rest) =
        rest.split_first().map_or((None, &[][..]), |(tool, rest)| (Some(tool), rest));
    match tool.and_then(|tool| tool.to_str()) {
        Some("serve") => serve::run(rest, true),
        Some("ctl") => ctl::run(rest.to_vec()),
        Some("bench") => bench::run(rest.to_vec()),
        _ => complain(USAGE),
    }
}

fn complain(text: &str) -> ExitCode {
    // Nobody is left to tell where standard error is closed.
    let _ = std::io::stderr().write_all(text.as_bytes());
    ExitCode::from(2)
}
