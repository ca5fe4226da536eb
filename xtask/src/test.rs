//! `cargo xtask test`: format, shape, lints and every test that needs nothing but Rust.

use crate::{run, tidy};
use anyhow::Result;

/// Runs the tests of one crate, or of all.
pub(crate) fn run(krate: Option<&str>) -> Result<()> {
    run::cargo(&["fmt", "--all", "--", "--check"])?;
    tidy::run()?;
    let scope = match krate {
        Some(name) => vec!["-p", name],
        None => vec!["--workspace"],
    };
    let clippy = ["--all-targets", "--all-features", "--quiet", "--", "-D", "warnings"];
    run::cargo(&[&["clippy"], &scope[..], &clippy].concat())?;
    run::cargo(&[&["test", "--all-features"], &scope[..]].concat())
}
