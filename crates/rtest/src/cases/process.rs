//! What the kernel knows of a server: memory, processor time, files.

use crate::server::Server;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn status(server: &Server, field: &str) -> Result<u64> {
    let pid = server.pid().context("the server is not running")?;
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find(|line| line.starts_with(field)).context("a field of status")?;
    let kib: u64 = line.split_whitespace().nth(1).context("a number")?.parse()?;
    Ok(kib << 10)
}

/// Resident bytes.
pub(crate) fn resident(server: &Server) -> Result<u64> {
    status(server, "VmRSS:")
}

/// The most resident bytes so far, or since [`forget_peak`].
pub(crate) fn resident_peak(server: &Server) -> Result<u64> {
    status(server, "VmHWM:")
}

/// Starts a new record of the most resident bytes.
pub(crate) fn forget_peak(server: &Server) -> Result<()> {
    let pid = server.pid().context("the server is not running")?;
    Ok(std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

/// Processor time so far.
pub(crate) fn processor_time(server: &Server) -> Result<Duration> {
    let pid = server.pid().context("the server is not running")?;
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = text.rsplit_once(") ").context("a name in parentheses")?.1;
    let field = |n: usize| rest.split(' ').nth(n).and_then(|word| word.parse::<u64>().ok());
    let ticks = field(11).context("utime")? + field(12).context("stime")?;
    // USER_HZ is 100 on every Linux that matters.
    Ok(Duration::from_millis(ticks * 10))
}

/// All files below a folder with their sizes, the largest first.
pub(crate) fn files(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                found.push((entry.path(), meta.len()));
            }
        }
    }
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(found)
}

/// Copies a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for (file, _) in files(from)? {
        let target = to.join(file.strip_prefix(from)?);
        std::fs::create_dir_all(target.parent().context("a folder")?)?;
        std::fs::copy(&file, &target)?;
    }
    Ok(())
}
