//! What Linux tells about a process.

use std::fmt;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

use crate::Failure;

/// What a process takes.
pub struct Usage {
    /// The memory it occupies, in MiB.
    pub resident: f64,
    /// What of that is its own: heap and stacks, not the program's code.
    pub own: f64,
    /// The processor time it has used since it began.
    pub processor: Duration,
}

// === impl Usage ===

impl Usage {
    /// Looks at a process.
    pub fn of(id: u32) -> Result<Self, Failure> {
        let (status, stat) = (
            std::fs::read_to_string(format!("/proc/{id}/status"))?,
            std::fs::read_to_string(format!("/proc/{id}/stat"))?,
        );
        let mebibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let kibibytes: f64 = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok())?;
            Some(kibibytes / 1024.0)
        };
        let missing = || format!("Linux does not tell the memory of the process {id}");
        // The program's name comes first, and may hold spaces.
        let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
        let ticks: u64 =
            fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Self {
            resident: mebibytes("VmRSS").ok_or_else(missing)?,
            own: mebibytes("RssAnon").ok_or_else(missing)?,
            processor: Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64),
        })
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MiB resident, of which {:.1} MiB are heap and stacks", self.resident, self.own)
    }
}
