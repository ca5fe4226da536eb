//! `cargo xtask ci`: everything that gates main, in order, ending at the first red gate, with a
//! table of what was run.

use crate::run;
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// One gate: a name and the command line that it runs.
struct Gate {
    name: &'static str,
    line: &'static str,
}

const fn gate(name: &'static str, line: &'static str) -> Gate {
    Gate { name, line }
}

/// The server that gates start.
const SERVER: &str = "target/release/mainstay serve";

/// What gates are told through the environment.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("SERVER", SERVER),
    ("MAINSTAY", "target/release/mainstay"),
    ("ETCDCTL", "target/release/mainstay"),
];

/// What is cheap and finds most comes first.
const GATES: &[Gate] = &[
    gate("test", "cargo xtask test"),
    gate("release", "cargo build --release --quiet -p mainstay -p sim -p rtest"),
    gate("sim", "target/release/sim --seeds 1000 --replays 20"),
    gate(
        "mutants",
        "cargo run --quiet --release -p sim --features mutants -- --mutant all --seeds 300",
    ),
    gate("fuzz", "cargo xtask fuzz --seconds 30"),
    gate("kill", "target/release/rtest kill --rounds 300 --server"),
    gate("power", "target/release/rtest kill --power --rounds 50 --server"),
    gate("cluster", "target/release/rtest cluster --rounds 12 --server"),
    gate("strace", "target/release/rtest strace --server"),
    gate("stall", "target/release/rtest stall --seconds 60 --server"),
    gate("ends", "target/release/rtest ends --server"),
    gate("full", "target/release/rtest full --server"),
    gate("memory", "target/release/rtest memory --server"),
    gate("cases", "target/release/rtest cases --server"),
    gate("differential", "interop/differential/run -seed 11"),
    gate("ctl", "interop/ctl/run"),
    gate("bench", "interop/bench/run"),
    gate("go", "interop/go/run"),
    gate("python", "interop/python/run"),
    gate("node", "interop/node/run"),
    gate("kubernetes", "interop/kubernetes/run"),
];

/// Runs the gates, or only those named.
pub(crate) fn run(only: &[String]) -> Result<()> {
    let mut table = Vec::new();
    for gate in GATES.iter().filter(|gate| only.is_empty() || only.iter().any(|o| o == gate.name)) {
        let mut words: Vec<&str> = gate.line.split(' ').collect();
        if words.last() == Some(&"--server") {
            words.push(SERVER);
        }
        say(&format!("== {}: {}", gate.name, words.join(" ")));
        let start = Instant::now();
        let result = run::command_with(words[0], &words[1..], &ENVIRONMENT);
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
