//! A limit on the memory of one process: a cgroup where one can be made, else only looked at.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// How a process is held.
#[derive(Debug)]
pub enum Cage {
    /// In a memory cgroup, version 1 or 2.
    Group {
        /// Its folder.
        folder: PathBuf,
        /// File with the highest use so far.
        peak: &'static str,
    },
    /// Not held: the highest resident size is compared with the limit afterwards.
    Watched,
}

/// Where memory cgroups are made, with the names of limit and peak.
const KINDS: [(&str, &str, &str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "version 1"),
    ("/sys/fs/cgroup", "memory.max", "memory.peak", "version 2"),
];

impl Cage {
    /// Puts a process under a limit; the text says how.
    pub fn around(pid: u32, bytes: u64) -> (Cage, String) {
        for (root, limit, peak, name) in KINDS {
            let folder = Path::new(root).join(format!("mainstay-rtest-{pid}"));
            if enter(&folder, limit, pid, bytes).is_ok() {
                let how = format!("memory cgroup {name} of {bytes} bytes");
                return (Cage::Group { folder, peak }, how);
            }
            let _ = fs::remove_dir(&folder);
        }
        (Cage::Watched, format!("no memory cgroup can be made: peak RSS is held against {bytes}"))
    }

    /// Highest use so far, in bytes.
    pub fn peak(&self, pid: u32) -> Result<u64> {
        if let Cage::Group { folder, peak } = self
            && let Ok(text) = fs::read_to_string(folder.join(peak))
        {
            return Ok(text.trim().parse()?);
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: u64 = line.context("VmHWM")?.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib * 1024)
    }
}

fn enter(folder: &Path, limit: &str, pid: u32, bytes: u64) -> std::io::Result<()> {
    fs::create_dir(folder)?;
    fs::write(folder.join(limit), bytes.to_string())?;
    fs::write(folder.join("cgroup.procs"), pid.to_string())
}

impl Drop for Cage {
    fn drop(&mut self) {
        if let Cage::Group { folder, .. } = self {
            // Goes once the process has ended; else it is left behind empty.
            let _ = fs::remove_dir(folder);
        }
    }
}
