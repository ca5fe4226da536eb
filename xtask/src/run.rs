//! Runs a command in the root of the workspace.

use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Runs `cargo` with these arguments.
pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    command(&cargo, args)
}

/// Runs a program; the error names it and its arguments.
pub(crate) fn command(program: &str, args: &[&str]) -> Result<()> {
    command_with(program, args, &[])
}

/// Runs a program with these variables added to the environment.
pub(crate) fn command_with(program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let line = format!("{program} {}", args.join(" "));
    let status = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(crate::root())
        .status()
        .with_context(|| format!("start {line}"))?;
    ensure!(status.success(), "{line}: {status}");
    Ok(())
}
