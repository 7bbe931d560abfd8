//! What Linux tells about a process's memory.

use std::fmt;

use crate::Failure;

/// How much memory a process occupies, in MiB.
pub(crate) struct Memory {
    resident: f64,
    /// What is its own: heap and stacks, not the program's code.
    own: f64,
}

/// Looks at a process.
pub(crate) fn of(id: u32) -> Result<Memory, Failure> {
    let path = format!("/proc/{id}/status");
    let status = std::fs::read_to_string(&path)?;
    let mebibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kibibytes: f64 = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok())?;
        Some(kibibytes / 1024.0)
    };
    let missing = || format!("{path} does not tell the memory of the process");
    Ok(Memory { resident: mebibytes("VmRSS").ok_or_else(missing)?, own: mebibytes("RssAnon").ok_or_else(missing)? })
}

// === impl Memory ===

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MiB resident, of which {:.1} MiB are heap and stacks", self.resident, self.own)
    }
}
