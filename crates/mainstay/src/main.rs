//! The one binary: server, command-line client, load generator.

use server::config::{self, Start};
use server::driver::start;
use server::serve::{self, Ended};
use std::io::Write;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "serve") {
        args.remove(0);
    }
    std::process::exit(serve(&args));
}

/// Serves until told to end; the exit code.
fn serve(args: &[String]) -> i32 {
    let env: Vec<(String, String)> = std::env::vars().collect();
    match config::load(args, &env) {
        Start::Print(text) => {
            // There is nobody to tell when standard output is gone.
            let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
            0
        }
        Start::Usage(text) => {
            let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
            2
        }
        Start::Refused(lines) => {
            lines.iter().for_each(server::log::early);
            1
        }
        Start::Serve(config, lines) => {
            let (outputs, json) = (&config.log_outputs, config.log_json);
            if let Err(why) = server::log::init(outputs, &config.log_level, json) {
                let _ = writeln!(std::io::stderr(), "{why}");
                return 1;
            }
            lines.iter().for_each(server::log::early);
            match serve::run(*config) {
                Ok(Ended::Signal(signal)) => end_by(signal),
                Err(error) => start::report(&error),
            }
        }
    }
}

/// Ends by a signal as if it had never been caught, so that a supervisor sees what happened.
fn end_by(signal: i32) -> i32 {
    match signal_hook::low_level::emulate_default_handler(signal) {
        Ok(()) => 0,
        Err(_) => 128 + signal,
    }
}
