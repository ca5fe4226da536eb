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
        let limit = fs::read_to_string("/proc/self/limits").ok().and_then(|limits| {
            let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
            line.split_whitespace().nth(3)?.parse().ok()
        });
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
        line("process_open_fds", "gauge", "Open files.", to_f64(used));
        line("process_max_fds", "gauge", "Limit of open files.", to_f64(limit));
        text
    }
}

fn to_f64(value: i64) -> f64 {
    // Counts of files are far below 2^53.
    value as f64
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
