//! The project's own commands. Long work lives in one module per command.

mod codegen;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::Codegen => codegen::run(),
    }
}
