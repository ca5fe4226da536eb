//! The names of Go's runtime metrics, for dashboards and tests that ask for them. There is no Go
//! here: memory and threads are this process's, what only a garbage collector has is 0.

use std::fmt::Write;
use std::fs;

/// What a name shows.
#[derive(Clone, Copy)]
enum Shows {
    /// Nothing that exists here.
    Zero,
    /// Memory that belongs to no file.
    Memory,
    /// Memory for stacks.
    Stack,
    /// Threads.
    Threads,
}

use Shows::{Memory, Stack, Threads, Zero};

const NAMES: &[(&str, &str, Shows)] = &[
    ("go_gc_gogc_percent", "gauge", Zero),
    ("go_gc_gomemlimit_bytes", "gauge", Zero),
    ("go_goroutines", "gauge", Threads),
    ("go_memstats_alloc_bytes", "gauge", Memory),
    ("go_memstats_alloc_bytes_total", "counter", Zero),
    ("go_memstats_buck_hash_sys_bytes", "gauge", Zero),
    ("go_memstats_frees_total", "counter", Zero),
    ("go_memstats_gc_sys_bytes", "gauge", Zero),
    ("go_memstats_heap_alloc_bytes", "gauge", Memory),
    ("go_memstats_heap_idle_bytes", "gauge", Zero),
    ("go_memstats_heap_inuse_bytes", "gauge", Memory),
    ("go_memstats_heap_objects", "gauge", Zero),
    ("go_memstats_heap_released_bytes", "gauge", Zero),
    ("go_memstats_heap_sys_bytes", "gauge", Memory),
    ("go_memstats_last_gc_time_seconds", "gauge", Zero),
    ("go_memstats_mallocs_total", "counter", Zero),
    ("go_memstats_mcache_inuse_bytes", "gauge", Zero),
    ("go_memstats_mcache_sys_bytes", "gauge", Zero),
    ("go_memstats_mspan_inuse_bytes", "gauge", Zero),
    ("go_memstats_mspan_sys_bytes", "gauge", Zero),
    ("go_memstats_next_gc_bytes", "gauge", Zero),
    ("go_memstats_other_sys_bytes", "gauge", Zero),
    ("go_memstats_stack_inuse_bytes", "gauge", Stack),
    ("go_memstats_stack_sys_bytes", "gauge", Stack),
    ("go_memstats_sys_bytes", "gauge", Memory),
    ("go_sched_gomaxprocs_threads", "gauge", Threads),
    ("go_threads", "gauge", Threads),
];

/// All names in Prometheus' text format.
pub(super) fn render() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut text = String::from(
        "# HELP go_gc_duration_seconds No garbage is collected here.\n\
         # TYPE go_gc_duration_seconds summary\n\
         go_gc_duration_seconds_sum 0\ngo_gc_duration_seconds_count 0\n\
         # HELP go_info Not written in Go.\n# TYPE go_info gauge\ngo_info{version=\"none\"} 1\n",
    );
    for (name, kind, shows) in NAMES {
        let (help, value) = match shows {
            Zero => ("Always 0: no part of this server.", 0),
            Memory => ("Memory of this process that no file backs.", kilobytes(&status, "RssAnon")),
            Stack => ("Memory of this process's first stack.", kilobytes(&status, "VmStk")),
            Threads => ("Threads of this process.", field(&status, "Threads")),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    text
}

fn kilobytes(status: &str, name: &str) -> u64 {
    field(status, name).saturating_mul(1024)
}

/// A number of `/proc/self/status`; 0 if it is not there.
fn field(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_threads_are_this_processs_own() {
        let status = "Name:\tx\nVmStk:\t     132 kB\nRssAnon:\t    2048 kB\nThreads:\t5\n";
        assert_eq!(kilobytes(status, "RssAnon"), 2 << 20);
        assert_eq!(field(status, "Threads"), 5);
        assert_eq!(field(status, "Missing"), 0);
        assert!(render().contains("# TYPE go_threads gauge\ngo_threads "));
    }
}
