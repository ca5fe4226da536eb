//! `cargo xtask fuzz`: runs the targets of `fuzz/` for some seconds each, from the corpus.

use crate::run;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// Runs these targets, or all.
pub(crate) fn run(targets: &[String], seconds: u64) -> Result<()> {
    let tool = tool()?;
    let all = names(&std::fs::read_to_string(crate::root().join("fuzz/Cargo.toml"))?);
    ensure!(!all.is_empty(), "fuzz/Cargo.toml names no target");
    for target in all.iter().filter(|name| targets.is_empty() || targets.contains(name)) {
        let found = crate::root().join("target/fuzz-corpus").join(target);
        std::fs::create_dir_all(&found)?;
        let limit = format!("-max_total_time={seconds}");
        let (found, seed) = (found.display().to_string(), format!("fuzz/corpus/{target}"));
        let args = ["fuzz", "run", "--sanitizer", "address", target, &found, &seed, "--", &limit];
        let bounds = ["-timeout=5", "-rss_limit_mb=1024", "-print_final_stats=1", "-verbosity=0"];
        run::command_with(&tool, &[&args[..], &bounds].concat(), &[("RUSTC_BOOTSTRAP", "1")])
            .with_context(|| format!("fuzz target {target}"))?;
    }
    Ok(())
}

/// The fuzzing tool; installed into the cache if the machine has none.
fn tool() -> Result<String> {
    let root = cache()?.join("cargo-fuzz");
    let program = root.join("bin/cargo-fuzz");
    if !program.exists() {
        let root = root.display().to_string();
        run::cargo(&["install", "--quiet", "--locked", "--root", &root, "cargo-fuzz"])?;
    }
    ensure!(Command::new(&program).args(["fuzz", "--version"]).output().is_ok(), "run cargo-fuzz");
    Ok(program.display().to_string())
}

fn cache() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("mainstay"))
}

/// Names of the `[[bin]]` sections.
fn names(manifest: &str) -> Vec<String> {
    let bins = manifest.split("[[bin]]").skip(1);
    let name = |bin: &str| {
        let line = bin.lines().find_map(|line| line.strip_prefix("name = "))?;
        Some(line.trim_matches('"').to_string())
    };
    bins.filter_map(name).collect()
}
