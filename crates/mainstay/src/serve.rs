//! `mainstay serve`: reads the configuration, serves, and ends with the exit code that says why.

use server::config::{self, Config, Start};
use server::driver::start;
use server::serve::{self, Ended};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Serves until told to end. `greet` prints what to type next, for a person at a terminal.
pub(crate) fn run(args: &[OsString], greet: bool) -> ExitCode {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let env: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        })
        .collect();
    match config::load(&args, &env) {
        Start::Print(text) => {
            // There is nobody to tell when standard output is gone.
            let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
            ExitCode::SUCCESS
        }
        Start::Usage(text) => {
            let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
            ExitCode::from(2)
        }
        Start::Refused(lines) => {
            lines.iter().for_each(server::log::early);
            ExitCode::from(1)
        }
        Start::Serve(config, lines) => {
            keep_pages_small();
            let (outputs, json) = (&config.log_outputs, config.log_json);
            if let Err(why) = server::log::init(outputs, &config.log_level, json) {
                let _ = writeln!(std::io::stderr(), "{why}");
                return ExitCode::from(1);
            }
            lines.iter().for_each(server::log::early);
            if greet {
                say_what_to_type(&config);
            }
            match serve::run(*config) {
                Ok(Ended::Signal(signal)) => end_by(signal),
                Err(error) => ExitCode::from(u8::try_from(start::report(&error)).unwrap_or(1)),
            }
        }
    }
}

/// Asks the kernel for no huge pages: most of each would lie idle between small records and the
/// buffers of connections. Without it the server only takes more memory.
fn keep_pages_small() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Ends by a signal as if it had never been caught, so that a supervisor sees what happened.
fn end_by(signal: i32) -> ExitCode {
    match signal_hook::low_level::emulate_default_handler(signal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
    }
}

/// The next step, on standard output, where no log goes by default.
fn say_what_to_type(config: &Config) {
    let Some(url) = config.listen_client_urls.first() else { return };
    let program = std::env::args().next().unwrap_or_else(|| "mainstay".to_string());
    let text = format!(
        "Mainstay starts on {url}, its data lies in {}. In another terminal, type:\n\n    \
         {program} ctl --endpoints {url} put greeting hello\n    \
         {program} ctl --endpoints {url} get greeting\n\n\
         Its log follows; Ctrl-C ends it.\n",
        config.data_dir
    );
    // A closed standard output is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
