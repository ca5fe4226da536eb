//! Runs seeds: `sim --seeds 1000`, `sim --seed 7 --verbose`, `sim --mutant NAME`.

use anyhow::{Context, bail};
use clap::Parser;
use sim::{Counts, Mutant, Options, Violation, run};
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

/// Simulates clusters of one to five members under faults, seed by seed.
#[derive(Parser)]
struct Arguments {
    /// How many seeds to run.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Run this one seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Print the end of the trace of a failure.
    #[arg(long)]
    verbose: bool,
    /// Plant a bug: the run succeeds if it is found. `all` plants each in turn, `list` lists them.
    #[arg(long)]
    mutant: Option<String>,
    /// How many of the seeds run twice, to compare their traces.
    #[arg(long, default_value_t = 20)]
    replays: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // A broken invariant of the member is reported like any other violation.
    if !arguments.verbose {
        panic::set_hook(Box::new(|_| {}));
    }
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("sim: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    // Nobody reads on a closed pipe, and that is no failure of the run.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn start(arguments: &Arguments) -> anyhow::Result<()> {
    match arguments.mutant.as_deref() {
        None => run_seeds(arguments),
        Some("list") => {
            Mutant::names().for_each(say);
            Ok(())
        }
        Some("all") => {
            let mut missed = Vec::new();
            for name in Mutant::names() {
                if let Err(error) = find(arguments, name) {
                    say(&format!("{error:#}"));
                    missed.push(name);
                }
            }
            if missed.is_empty() { Ok(()) } else { bail!("not found: {}", missed.join(", ")) }
        }
        Some(name) => find(arguments, name),
    }
}

/// Runs the seeds; the first violation ends it.
fn run_seeds(arguments: &Arguments) -> anyhow::Result<()> {
    let mut total = Counts::default();
    let mut enough = 0u64;
    let options = Options { mutant: None, is_verbose: arguments.verbose };
    for (number, seed) in seeds(arguments).enumerate() {
        let report = guarded(seed, options).map_err(|violation| fail(seed, &violation))?;
        if u64::try_from(number).is_ok_and(|number| number < arguments.replays) {
            let again = guarded(seed, options).map_err(|violation| fail(seed, &violation))?;
            if again != report {
                bail!("seed {seed}: two runs differ: {:x} and {:x}", report.trace, again.trace);
            }
        }
        enough += u64::from(report.counts.is_enough());
        total.add(&report.counts);
        if arguments.seed.is_some() {
            say(&format!("trace {:016x} {:?}", report.trace, report.counts));
        }
    }
    let run = seeds(arguments).count();
    say(&format!("{run} seeds, {enough} of them count; no violation; {total:?}"));
    if u64::try_from(run).is_ok_and(|run| enough < run) {
        bail!("only {enough} of {run} seeds acknowledged enough writes around a fault");
    }
    Ok(())
}

fn seeds(arguments: &Arguments) -> std::ops::Range<u64> {
    match arguments.seed {
        Some(seed) => seed..seed + 1,
        None => arguments.first..arguments.first + arguments.seeds,
    }
}

/// Plants a bug and runs seeds until one finds it.
fn find(arguments: &Arguments, name: &str) -> anyhow::Result<()> {
    let mutant = Mutant::named(name).with_context(|| {
        format!("no mutant {name}: `--mutant list` names them, in a build with feature mutants")
    })?;
    let options = Options { mutant: Some(mutant), is_verbose: arguments.verbose };
    for (number, seed) in seeds(arguments).enumerate() {
        if let Err(violation) = guarded(seed, options) {
            say(&format!("{name}: found by seed {seed}, the {}.: {violation}", number + 1));
            return Ok(());
        }
    }
    bail!("{name}: not found in {} seeds", seeds(arguments).count())
}

fn guarded(seed: u64, options: Options) -> Result<sim::Report, Violation> {
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(seed, options)));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_else(|| "a panic".to_owned());
        let at = types::Time(0);
        Err(Violation { invariant: "assertion", text, at, lines: Vec::new() })
    })
}

fn fail(seed: u64, violation: &Violation) -> anyhow::Error {
    for line in &violation.lines {
        say(line);
    }
    anyhow::anyhow!("seed {seed}: {violation}\nreplay: sim --seed {seed} --verbose")
}
