//! `cargo xtask fuzz`: builds the targets of `fuzz/` once, runs each for some seconds from its
//! corpus, two at a time, and prints a table.
//!
//! What a run finds is kept in `target/fuzz-corpus` and is where the next one begins; `--minimise`
//! makes the corpora in `fuzz/corpus` as small as their coverage allows, with what was found.

use crate::run;
use anyhow::{Context, Result, bail, ensure};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

mod figures;

use figures::Figures;

/// Targets that run at a time.
const WORKERS: usize = 2;

/// Fewer new inputs than this say that a target is too slow, or its corpus too large, to find
/// anything.
const NEW_MIN: u64 = 50;

/// Bytes of all corpora together.
const CORPORA_BYTES_MAX: u64 = 5 << 20;

/// What each run is held to: an input that takes longer or more memory is a finding.
const BOUNDS: [&str; 4] =
    ["-timeout=10", "-rss_limit_mb=1024", "-detect_leaks=0", "-print_final_stats=1"];

/// Inputs of these are edits of four bytes each, and as many as count: what begins with short
/// inputs, as is usual, sees no more than two of them in half a minute.
const OF_EDITS: [&str; 2] = ["wal_segment", "db_open"];
const EDITS: [&str; 2] = ["-len_control=0", "-max_len=256"];

/// These run tens of inputs a second: a large corpus would take the half minute by itself.
const SLOW: [&str; 2] = ["mvcc_steps", "mvcc_ranges"];
const SLOW_INPUTS_MAX: usize = 30;

/// Options of the command.
pub(crate) struct Options {
    /// Only these targets; all if there are none.
    pub(crate) targets: Vec<String>,
    /// Seconds for each.
    pub(crate) seconds: u64,
    /// Makes the corpora small instead of running.
    pub(crate) minimise: bool,
}

/// Runs the targets, or minimises their corpora.
pub(crate) fn run(options: &Options) -> Result<()> {
    let all = names(&std::fs::read_to_string(crate::root().join("fuzz/Cargo.toml"))?);
    ensure!(!all.is_empty(), "fuzz/Cargo.toml names no target");
    if let Some(unknown) = options.targets.iter().find(|name| !all.contains(name)) {
        bail!("no such target: {unknown}; there are {}", all.join(", "));
    }
    let wanted = |name: &String| options.targets.is_empty() || options.targets.contains(name);
    let targets: Vec<String> = all.into_iter().filter(wanted).collect();
    let programs = build()?;
    if options.minimise {
        targets.iter().try_for_each(|target| minimise(&programs, target))?;
    } else {
        fuzz(&programs, &targets, options.seconds)?;
    }
    check_corpora()
}

/// Builds all targets; returns the folder that they are in.
fn build() -> Result<PathBuf> {
    let triple = host()?;
    let args = ["fuzz", "build", "--sanitizer", "address", "--target", &triple];
    let args = [&args[..], &["--target-dir", "target/fuzz"]].concat();
    // What the sanitizers need is unstable; the toolchain is the one that everything is built with.
    run::command_with(&tool()?, &args, &[("RUSTC_BOOTSTRAP", "1")])?;
    Ok(crate::root().join("target/fuzz").join(triple).join("release"))
}

/// Runs the targets, `WORKERS` at a time, and prints what they did.
fn fuzz(programs: &Path, targets: &[String], seconds: u64) -> Result<()> {
    // Workers take from the one and add to the other: both are short, and seldom touched.
    let waiting = Mutex::new(targets.iter().enumerate().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no worker panics").pop_front();
                    let Some((at, target)) = next else { return };
                    let result = fuzz_one(programs, target, seconds);
                    done.lock().expect("no worker panics").push((at, target, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(at, ..)| *at);
    say(&format!("{}\n{}", "", Figures::HEADING));
    let mut failures = Vec::new();
    for (_, target, result) in done {
        match result {
            Ok(figures) => {
                say(&figures.line(target));
                if figures.tried() < NEW_MIN {
                    failures.push(format!("{target}: only {} new inputs", figures.tried()));
                }
            }
            Err(error) => {
                say(&format!("{target:<16} RED"));
                failures.push(format!("{error:#}"));
            }
        }
    }
    ensure!(failures.is_empty(), "fuzzing failed\n{}", failures.join("\n"));
    Ok(())
}

/// Runs one target; what it prints goes to a file, and its end into the error.
fn fuzz_one(programs: &Path, target: &str, seconds: u64) -> Result<Figures> {
    let artifacts = folder("target/fuzz-artifacts", target)?;
    let found = folder("target/fuzz-corpus", target)?;
    let path = crate::root().join(format!("target/fuzz-artifacts/{target}.log"));
    let log = std::fs::File::create(&path).with_context(|| format!("{}", path.display()))?;
    let program = programs.join(target);
    let before = files(&artifacts)?;
    let status = Command::new(&program)
        .args([&found, &corpus(target)])
        .args(BOUNDS)
        .args(EDITS.iter().filter(|_| OF_EDITS.contains(&target)))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .env("ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0")
        .stdout(Stdio::null())
        .stderr(log)
        .status()
        .with_context(|| format!("start {}", program.display()))?;
    let said = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
    if status.success() {
        return Figures::parse(&said).with_context(|| format!("{target}: no figures in its log"));
    }
    let input = files(&artifacts)?.into_iter().find(|file| !before.contains(file));
    let replay = match input {
        Some(input) => format!("replay it: {} {}", program.display(), input.display()),
        None => "it left no input".to_string(),
    };
    bail!("{target}: {status}\n{}\n{replay}\nthe log: {}", figures::end_of(&said), path.display())
}

/// Writes the corpus of a target anew: of what it has and what runs found, the fewest and shortest
/// inputs with the same coverage.
fn minimise(programs: &Path, target: &str) -> Result<()> {
    let small = folder("target/fuzz-small", target)?;
    files(&small)?.iter().try_for_each(std::fs::remove_file)?;
    let found = folder("target/fuzz-corpus", target)?;
    let status = Command::new(programs.join(target))
        .args(["-merge=1", "-rss_limit_mb=1024", "-timeout=10", "-verbosity=0"])
        .args([&small, &corpus(target), &found])
        .env("ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("start {target}"))?;
    ensure!(status.success(), "{target}: {status}");
    // Inputs with a name were written by hand, or are past crashes: they stay.
    for old in files(&corpus(target))?.iter().filter(|path| is_hash(path)) {
        std::fs::remove_file(old)?;
    }
    let mut kept = files(&small)?;
    if SLOW.contains(&target) {
        kept.sort_by_key(|path| path.metadata().map_or(u64::MAX, |metadata| metadata.len()));
        kept.truncate(SLOW_INPUTS_MAX);
    }
    for path in &kept {
        std::fs::copy(path, corpus(target).join(path.file_name().context("a name")?))?;
    }
    say(&format!("{target:<16} {} inputs", kept.len()));
    Ok(())
}

/// True for a name that the fuzzer gave.
fn is_hash(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The corpora are part of the repository: they stay small.
fn check_corpora() -> Result<()> {
    let mut bytes = 0;
    for target in files(&crate::root().join("fuzz/corpus"))? {
        for input in files(&target)? {
            bytes += input.metadata()?.len();
        }
    }
    ensure!(bytes <= CORPORA_BYTES_MAX, "the corpora have {bytes} bytes: minimise them");
    Ok(())
}

fn corpus(target: &str) -> PathBuf {
    crate::root().join("fuzz/corpus").join(target)
}

/// A folder of a target, made if it is missing.
fn folder(base: &str, target: &str) -> Result<PathBuf> {
    let path = crate::root().join(base).join(target);
    std::fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
    Ok(path)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The platform that the toolchain builds for.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc -vV names no host")?.to_string())
}

/// The fuzzing tool; installed into the cache if the machine has none.
fn tool() -> Result<String> {
    let root = cache()?.join("cargo-fuzz");
    let program = root.join("bin/cargo-fuzz");
    if !program.exists() {
        let root = root.display().to_string();
        run::cargo(&["install", "--quiet", "--locked", "--root", &root, "cargo-fuzz"])?;
    }
    let works = Command::new(&program).args(["fuzz", "--version"]).stdout(Stdio::null()).status();
    ensure!(works.is_ok_and(|status| status.success()), "{} does not run", program.display());
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

#[expect(clippy::print_stdout, reason = "the table is what this command is run for")]
fn say(line: &str) {
    println!("{line}");
}
