//! The project's own commands. Long work lives in one module per command.

mod ci;
mod codegen;
mod fuzz;
mod run;
mod test;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Parser)]
#[command(about = "The project's own commands")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile crates/proto/proto/*.proto into checked-in Rust.
    Codegen,
    /// Check the shape of the tree: layers, sizes, documents, forbidden words.
    Tidy,
    /// Format, shape, lints and every test that needs nothing but Rust.
    Test {
        /// Only this crate's tests.
        krate: Option<String>,
    },
    /// Everything that gates main, with a table at the end.
    Ci {
        /// Only the gates with these names.
        only: Vec<String>,
    },
    /// Run the fuzz targets, each from its corpus.
    Fuzz {
        /// Only these targets.
        targets: Vec<String>,
        /// Seconds for each.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// Make the corpora small instead, with what runs have found.
        #[arg(long)]
        minimise: bool,
    },
    /// Run the simulator: `cargo xtask sim --seeds 200`.
    Sim {
        /// Arguments of the simulator.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::Codegen => codegen::run(),
        Command::Tidy => tidy::run(),
        Command::Test { krate } => test::run(krate.as_deref()),
        Command::Ci { only } => ci::run(&only),
        Command::Fuzz { targets, seconds, minimise } => {
            fuzz::run(&fuzz::Options { targets, seconds, minimise })
        }
        Command::Sim { args } => {
            let mut line = vec!["run", "--quiet", "--release", "-p", "sim", "--bin", "sim", "--"];
            line.extend(args.iter().map(String::as_str));
            run::cargo(&line)
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_path_buf()
}
