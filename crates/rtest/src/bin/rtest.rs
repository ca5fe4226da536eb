//! `rtest kill --server target/release/mainstay --rounds 300`: the gate's command line.

use anyhow::Result;
use clap::{Parser, Subcommand};
use rtest::{cases, cluster, ends, full, kill, memory, stall, strace};

#[derive(Parser)]
#[command(about = "Real processes under faults")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// SIGKILL under 8 writers, round after round.
    Kill(kill::Options),
    /// Members that are killed, paused and stopped under writers.
    Cluster(cluster::Options),
    /// A disk that stalls in sync.
    Stall(stall::Options),
    /// A disk that fails, and one that is full at the start.
    Ends(ends::Options),
    /// A disk that gets full.
    Full(full::Options),
    /// Little memory, and clients that want much of it.
    Memory(memory::Options),
    /// The order of system calls.
    Strace(strace::Options),
    /// What users of etcd reported, one test a case.
    Cases(cases::Options),
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    match Args::parse().command {
        Command::Kill(options) => runtime.block_on(local.run_until(kill::run(options))),
        Command::Cluster(options) => runtime.block_on(local.run_until(cluster::run(options))),
        Command::Stall(options) => runtime.block_on(local.run_until(stall::run(options))),
        Command::Ends(options) => runtime.block_on(local.run_until(ends::run(options))),
        Command::Full(options) => runtime.block_on(local.run_until(full::run(options))),
        Command::Memory(options) => runtime.block_on(local.run_until(memory::run(options))),
        Command::Strace(options) => runtime.block_on(local.run_until(strace::run(options))),
        Command::Cases(options) => {
            // The closing line has said it all.
            if !cases::run(&options)? {
                std::process::exit(1);
            }
            Ok(())
        }
    }
}
