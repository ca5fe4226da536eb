//! What tests of several crates share: `corpus` replays inputs of the fuzz targets; the rest is the
//! runner of golden scripts: a file of commands with the output that each must have.
//!
//! ```text
//! # A delete without a match does not advance the revision.
//!
//! del nothing
//! ---
//! deleted 0, revision 1
//!
//! put a 1
//! put b 2
//! ---
//! 2.0 a = 1
//! 3.0 b = 2
//! ```
//!
//! The first line says which rule the script guards. A block is some commands, a line of three
//! dashes, and what they print, up to an empty line. Lines that begin with `#` between blocks
//! are kept. With `UPDATE=1` in the environment the outputs are written anew: the diff is then
//! what there is to review.

pub mod corpus;

use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::path::Path;

mod command;

pub use command::Command;

/// Runs one command: returns what it prints, an error for a command it does not know.
pub trait Run {
    /// Runs a command. Whatever the system under test answers, errors of it too, is output.
    fn run(&mut self, command: &Command) -> Result<String>;
}

impl<F: FnMut(&Command) -> Result<String>> Run for F {
    fn run(&mut self, command: &Command) -> Result<String> {
        self(command)
    }
}

/// Runs every script (`*.txt`) of a folder, each on a system of its own.
pub fn run_dir<R: Run>(dir: &Path, mut start: impl FnMut() -> R) -> Result<()> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            paths.push(path);
        }
    }
    paths.sort();
    ensure!(!paths.is_empty(), "no scripts in {}", dir.display());
    for path in paths {
        run_file(&path, &mut start())?;
    }
    Ok(())
}

/// Runs one script file.
pub fn run_file(path: &Path, system: &mut impl Run) -> Result<()> {
    let name = path.display();
    let written = std::fs::read_to_string(path).with_context(|| format!("read {name}"))?;
    let played = play(&written, system).with_context(|| format!("run {name}"))?;
    if played == written {
        return Ok(());
    }
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        return std::fs::write(path, played).with_context(|| format!("write {name}"));
    }
    bail!("{name} differs; UPDATE=1 takes the new output over\n{}", diff(&written, &played))
}

/// Runs a script and returns it with the outputs it had.
pub fn play(script: &str, system: &mut impl Run) -> Result<String> {
    let first = script.lines().next().unwrap_or_default();
    ensure!(first.starts_with("# "), "the first line says which rule the script guards");
    let mut played = String::new();
    let mut lines = script.lines().enumerate().peekable();
    while let Some((_, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(played, "{line}")?;
            continue;
        }
        let mut output = run_line(line, system)?;
        writeln!(played, "{line}")?;
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty() && *line != "---") {
            output += &run_line(line, system)?;
            writeln!(played, "{line}")?;
        }
        if lines.next_if(|(_, line)| *line == "---").is_some() {
            while lines.next_if(|(_, line)| !line.is_empty()).is_some() {}
        }
        write!(played, "---\n{output}")?;
    }
    Ok(played)
}

/// Output ends with a line break, or is empty.
fn run_line(line: &str, system: &mut impl Run) -> Result<String> {
    let command = Command::parse(line)?;
    let output = system.run(&command).with_context(|| format!("command: {line}"))?;
    let lines = output.trim_end().lines();
    // An empty line would end the block.
    let mut ended = String::new();
    for line in lines {
        writeln!(ended, "{}", if line.is_empty() { "." } else { line })?;
    }
    Ok(ended)
}

/// The lines from the first to the last difference, as a reader of diffs expects them.
fn diff(written: &str, played: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (written.lines().collect(), played.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail_max = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = tail.min(tail_max);
    let mut out = format!("line {}:\n", head + 1);
    for line in &old[head..old.len() - tail] {
        out += &format!("- {line}\n");
    }
    for line in &new[head..new.len() - tail] {
        out += &format!("+ {line}\n");
    }
    out
}

#[cfg(test)]
mod tests;
