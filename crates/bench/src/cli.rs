//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};

use crate::compare;
use crate::rows::{self, ROWS, Row};
use crate::{say, say_error};

/// Measures etcd-compatible servers.
#[derive(Debug, Parser)]
#[command(name = "mainstay bench", override_usage = USAGE)]
struct Cli {
    /// `compare`, `rows` (lists them), `all`, or names of rows.
    #[arg(required = true)]
    words: Vec<String>,
    /// Command of the first (or only) server; etcd's flags are appended to it.
    #[arg(long, visible_alias = "server")]
    server_a: Option<String>,
    /// Command of the second server.
    #[arg(long)]
    server_b: Option<String>,
    #[command(flatten)]
    options: Options,
    /// Also write the result as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

const USAGE: &str = "mainstay bench <row…|all> --server CMD [options]
       mainstay bench compare [row…|all] --server-a CMD --server-b CMD [options]
       mainstay bench rows";

/// What all rows share.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Length of each window in seconds.
    #[arg(long, default_value_t = 20.0)]
    pub(crate) seconds: f64,
    /// How often each row is run on each server; medians are reported.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Keys of the rows over a large data set.
    #[arg(long, default_value_t = 500_000)]
    pub(crate) keys: usize,
    /// Fixed rate for rows that can run open loop, in requests a second (0: closed loop).
    #[arg(long, default_value_t = 0.0)]
    pub(crate) rate: f64,
    /// Where data directories are made; must be on the disk to measure.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Core of the server.
    #[arg(long, default_value_t = 0)]
    pub(crate) server_core: usize,
    /// Core of this process.
    #[arg(long, default_value_t = 1)]
    pub(crate) client_core: usize,
}

impl Options {
    pub(crate) fn window(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    let program = [OsString::from("mainstay bench")];
    let cli = match Cli::try_parse_from(program.into_iter().chain(args)) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            say(&error.to_string());
            return Ok(());
        }
        Err(error) => bail!("{error}"),
    };
    if cli.words[0] == "rows" {
        ROWS.iter().for_each(|row| say(&format!("{:<22} {}", row.name, row.about)));
        return Ok(());
    }
    let is_compare = cli.words[0] == "compare";
    let rows = select(&cli.words[usize::from(is_compare)..])?;
    let first = cli.server_a.context("which server? give --server-a CMD (or --server CMD)")?;
    let servers = match (is_compare, cli.server_b) {
        (true, Some(second)) => vec![first, second],
        (true, None) => bail!("compare needs --server-b CMD"),
        (false, _) => vec![first],
    };
    if !(cli.options.seconds > 0.0 && cli.options.rounds > 0 && cli.options.keys > 0) {
        bail!("--seconds, --rounds and --keys must be above zero");
    }
    if cli.options.seconds < 20.0 {
        say_error("bench: windows below 20 s show that rows run, not what they cost");
    }
    let report = compare::run(&servers, &rows, &cli.options)?;
    say(&report.table());
    if let Some(path) = cli.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

fn select(words: &[String]) -> Result<Vec<&'static Row>> {
    if words.is_empty() || words.iter().any(|word| word == "all") {
        return Ok(ROWS.iter().collect());
    }
    words
        .iter()
        .map(|word| {
            rows::find(word).with_context(|| format!("no row {word}; `bench rows` lists them"))
        })
        .collect()
}
