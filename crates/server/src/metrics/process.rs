//! The operating system's view of this process, read at each scrape.

use std::fmt::Write;
use std::fs;

/// Reads `/proc/self`; what cannot be read is left out.
#[derive(Clone, Default)]
pub(super) struct Process;

impl Process {
    /// Open files and their limit.
    pub(super) fn files(&self) -> (i64, i64) {
        let used = fs::read_dir("/proc/self/fd").map(|dir| dir.count()).unwrap_or(0);
        let limit = soft_limit("Max open files").and_then(|limit| limit.parse().ok());
        (i64::try_from(used).unwrap_or(i64::MAX), limit.unwrap_or(0))
    }

    /// The `process_*` metrics.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let (used, limit) = self.files();
        let mut line = |name: &str, kind: &str, help: &str, value: f64| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        if let Some(stat) = Stat::read() {
            let ticks = 100.0;
            line(
                "process_cpu_seconds_total",
                "counter",
                "Seconds of CPU time.",
                (stat.user + stat.system) / ticks,
            );
            line("process_virtual_memory_bytes", "gauge", "Virtual memory.", stat.virtual_bytes);
            line("process_resident_memory_bytes", "gauge", "Resident memory.", stat.resident_bytes);
            if let Some(boot) = boot_seconds() {
                line(
                    "process_start_time_seconds",
                    "gauge",
                    "Unix time of the start.",
                    boot + stat.start / ticks,
                );
            }
        }
        let memory_max =
            soft_limit("Max address space").map_or(0.0, |limit| limit.parse().unwrap_or(UNLIMITED));
        line("process_virtual_memory_max_bytes", "gauge", "Limit of virtual memory.", memory_max);
        if let Some((received, sent)) = network_bytes() {
            line(
                "process_network_receive_bytes_total",
                "counter",
                "Bytes received by the processes of this network.",
                received,
            );
            line(
                "process_network_transmit_bytes_total",
                "counter",
                "Bytes sent by the processes of this network.",
                sent,
            );
        }
        line("process_open_fds", "gauge", "Open files.", to_f64(used));
        line("process_max_fds", "gauge", "Limit of open files.", to_f64(limit));
        text
    }
}

fn to_f64(value: i64) -> f64 {
    // Counts of files are far below 2^53.
    value as f64
}

/// What Go prints for a limit that is none: 2^64 - 1.
const UNLIMITED: f64 = 18_446_744_073_709_551_615.0;

/// The soft limit of a resource, as the system writes it.
fn soft_limit(name: &str) -> Option<String> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let rest = limits.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next().map(str::to_string)
}

/// Bytes received and sent over IP.
fn network_bytes() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/net/netstat").ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt: "));
    let names: Vec<&str> = lines.next()?.split(' ').collect();
    let values: Vec<&str> = lines.next()?.split(' ').collect();
    let value = |name: &str| {
        let at = names.iter().position(|found| *found == name)?;
        values.get(at)?.parse::<f64>().ok()
    };
    Some((value("InOctets")?, value("OutOctets")?))
}

struct Stat {
    user: f64,
    system: f64,
    start: f64,
    virtual_bytes: f64,
    resident_bytes: f64,
}

impl Stat {
    fn read() -> Option<Stat> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the name in parentheses and may hold blanks.
        let (_, rest) = text.rsplit_once(')')?;
        let field = |at: usize| rest.split_whitespace().nth(at - 3)?.parse::<f64>().ok();
        Some(Stat {
            user: field(14)?,
            system: field(15)?,
            start: field(22)?,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)? * 4096.0,
        })
    }
}

fn boot_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
