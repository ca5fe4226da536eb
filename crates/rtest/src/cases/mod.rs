//! What users of etcd reported, one test a case, against a server process of its own each.
//!
//! `docs/cases.md` says which test a case is, and why some are not. Amounts are scaled to a few
//! seconds; figures of time are rows of `mainstay bench`, here a request must not fail or hang.

mod ask;
mod cli;
mod clock;
mod damage;
mod disk;
mod durability;
mod http;
mod kubernetes;
mod lease;
mod limits;
mod network;
mod ops;
mod place;
mod process;
mod range;
mod space;
mod table;
mod watch;
mod watch_load;

use anyhow::{Context, Result, ensure};
use clap::Args;
use place::Place;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use table::{CASES, Case};

/// Options of the cases.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags: `target/release/mainstay serve`.
    #[arg(long)]
    pub server: String,
    /// Command of the command-line client; found from the server's if not given.
    #[arg(long)]
    pub ctl: Option<String>,
    /// Only these cases: `UC-014` or a part of a test's name.
    #[arg(long, num_args = 1..)]
    pub only: Vec<String>,
    /// Cases that run at the same time.
    #[arg(long, default_value_t = 3)]
    pub at_once: usize,
    /// Name the cases and run none.
    #[arg(long)]
    pub list: bool,
}

/// Longest that one case may take.
const CASE_MAX: Duration = Duration::from_secs(120);

/// Runs the cases; true if all of them pass.
pub fn run(options: &Options) -> Result<bool> {
    let chosen: Vec<&Case> = CASES.iter().filter(|case| case.is_chosen(&options.only)).collect();
    ensure!(!chosen.is_empty(), "no case is called {:?}", options.only);
    if options.list {
        chosen.iter().for_each(|case| say(case.name));
        return Ok(true);
    }
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..options.at_once.max(1) {
            scope.spawn(|| {
                while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !passes(case, options) {
                        failed.lock().expect("no holder of this lock panics").push(case.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no holder of this lock panics");
    if !failed.is_empty() {
        say(&format!("failed: {}", failed.join(", ")));
    }
    say(&format!("{} passed, {} failed", chosen.len() - failed.len(), failed.len()));
    Ok(failed.is_empty())
}

/// Runs one case and prints its line.
fn passes(case: &Case, options: &Options) -> bool {
    let begin = Instant::now();
    let outcome = Place::new(&options.server, options.ctl.as_deref()).and_then(|place| {
        let outcome = attempt(case, &place);
        outcome.with_context(|| format!("the server's last lines:\n{}", place.log_tail()))
    });
    let took = begin.elapsed().as_secs_f32();
    match &outcome {
        Ok(()) => say(&format!("ok     {} ({took:.1} s)", case.name)),
        Err(error) => {
            let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
            let causes = causes.join(": ");
            say(&format!("FAILED {} ({took:.1} s): {causes}\n{error}", case.name));
        }
    }
    outcome.is_ok()
}

fn attempt(case: &Case, place: &Place) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let work = async {
        match tokio::time::timeout(CASE_MAX, (case.run)(place)).await {
            Ok(outcome) => outcome,
            Err(_) => anyhow::bail!("not finished after {CASE_MAX:?}"),
        }
    };
    local.block_on(&runtime, work)
}

#[expect(clippy::print_stdout, reason = "the result lines of a gate")]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests;
