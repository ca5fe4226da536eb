//! `cargo xtask ci`: everything that gates main, in order, ending at the first red gate, with a
//! table of what was run.

use crate::run;
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// One gate: a name and what it runs.
struct Gate {
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
}

/// In the order of cost: what is cheap and finds most comes first.
const GATES: &[Gate] = &[
    Gate { name: "test", program: "cargo", args: &["xtask", "test"] },
    Gate {
        name: "release",
        program: "cargo",
        args: &["build", "--release", "--quiet", "-p", "mainstay", "-p", "sim", "-p", "rtest"],
    },
];

/// Runs the gates, or only those named.
pub(crate) fn run(only: &[String]) -> Result<()> {
    let mut table = Vec::new();
    for gate in GATES.iter().filter(|gate| only.is_empty() || only.iter().any(|o| o == gate.name)) {
        say(&format!("== {}: {} {}", gate.name, gate.program, gate.args.join(" ")));
        let start = Instant::now();
        let result = run::command(gate.program, gate.args);
        table.push((gate.name, start.elapsed(), result.is_ok()));
        if let Err(error) = result {
            print(&table);
            bail!("gate {} is red: {error:#}", gate.name);
        }
    }
    print(&table);
    Ok(())
}

fn print(table: &[(&str, Duration, bool)]) {
    say(&format!("\n{:<14} {:>8}  result", "gate", "seconds"));
    for (name, time, green) in table {
        let result = if *green { "green" } else { "RED" };
        say(&format!("{name:<14} {:>8.0}  {result}", time.as_secs_f64()));
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this command is run for")]
fn say(line: &str) {
    println!("{line}");
}
