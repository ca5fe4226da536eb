//! What the kernel has counted for a process.

use std::fs;

use anyhow::{Context, Result};

/// Microseconds of one clock tick of `/proc/PID/stat`: the kernel's USER_HZ is 100.
const TICK_MICROS: u64 = 10_000;

/// A reading of all counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// User and system time of all threads, in microseconds.
    pub(crate) cpu_micros: u64,
    /// Bytes that were sent to the storage layer.
    pub(crate) written_bytes: u64,
    pub(crate) rss_bytes: u64,
    /// The part of the resident set that is not backed by files.
    pub(crate) anon_bytes: u64,
    /// Highest resident set so far.
    pub(crate) peak_bytes: u64,
}

impl Counters {
    /// Reads the counters of a process.
    pub(crate) fn read(pid: u32) -> Result<Counters> {
        let status = read(pid, "status")?;
        let kilobytes = |name: &str| field(&status, name).map_or(0, |value| value * 1024);
        Ok(Counters {
            cpu_micros: cpu_micros(pid)?,
            written_bytes: field(&read(pid, "io")?, "write_bytes:").unwrap_or(0),
            rss_bytes: kilobytes("VmRSS:"),
            anon_bytes: kilobytes("RssAnon:"),
            peak_bytes: kilobytes("VmHWM:"),
        })
    }
}

/// User and system time of all threads, in microseconds.
pub(crate) fn cpu_micros(pid: u32) -> Result<u64> {
    let stat = read(pid, "stat")?;
    parse_cpu(&stat).with_context(|| format!("malformed /proc/{pid}/stat"))
}

/// `utime` and `stime`: fields 14 and 15, counted after the name, which may hold spaces.
pub(crate) fn parse_cpu(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * TICK_MICROS)
}

/// The number behind a name at the start of a line.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn read(pid: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).with_context(|| format!("read {path}"))
}
