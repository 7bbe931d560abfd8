//! What Linux tells about a process: the processor time it has used and the memory it occupies.
//!
//! Processor time is what a server's work costs, however many others share the machine: it is the figure that is judged.
//! It comes in clock ticks, mostly of 10 ms, so a window must be long enough to hold many.

use std::time::Duration;

use crate::error::Error;

/// A process, by its id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(pub(crate) u32);

/// How much memory a process occupies, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Now.
    pub(crate) resident: u64,
    /// At most, since it started.
    pub(crate) peak: u64,
}

// === impl Process ===

impl Process {
    /// The one that measures.
    pub(crate) fn this() -> Self {
        Self(std::process::id())
    }

    /// The time it has used so far, in user and system mode, with all its threads.
    pub(crate) fn cpu(self) -> Result<Duration, Error> {
        let stat = self.read("stat")?;
        let ticks = cpu_ticks(&stat).ok_or_else(|| self.unreadable("stat"))?;
        Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
    }

    /// The memory it occupies.
    pub(crate) fn memory(self) -> Result<Memory, Error> {
        memory(&self.read("status")?).ok_or_else(|| self.unreadable("status"))
    }

    fn read(self, file: &str) -> Result<String, Error> {
        let path = self.path(file);
        std::fs::read_to_string(&path).map_err(Error::file(path.as_ref()))
    }

    fn unreadable(self, file: &str) -> Error {
        Error::Proc { path: self.path(file) }
    }

    fn path(self, file: &str) -> String {
        format!("/proc/{}/{file}", self.0)
    }
}

/// utime and stime, the 14th and 15th field. The second is the program's name in brackets, and the name may hold spaces and
/// brackets too.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let (user, system) = (fields.next()?, fields.next()?);
    Some(user.parse::<u64>().ok()? + system.parse::<u64>().ok()?)
}

fn memory(status: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    };
    Some(Memory { resident: bytes("VmRSS")?, peak: bytes("VmHWM")? })
}

#[cfg(test)]
mod tests;
