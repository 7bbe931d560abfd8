//! The process itself, as the system sees it. Where it does not tell, nothing is told.

use std::fs;

use super::exposition::{Exposition, Type};

/// Tells what `/proc` knows.
pub(super) fn expose(out: &mut Exposition) {
    let mut gauge = |name: &str, of, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.family(name, of, help);
            out.sample(name, &[], value);
        }
    };
    let stat = Stat::read();
    let field = |number: usize| stat.as_ref().and_then(|stat| stat.field(number));
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let cpu = field(UTIME).zip(field(STIME)).map(|(user, system)| (user + system) / ticks);
    gauge("process_cpu_seconds_total", Type::Counter, "Processor time.", cpu);
    gauge("process_virtual_memory_bytes", Type::Gauge, "Address space.", field(VSIZE));
    let resident = field(RSS).map(|pages| pages * rustix::param::page_size() as f64);
    gauge("process_resident_memory_bytes", Type::Gauge, "Memory.", resident);
    let start = boot_time().zip(field(STARTTIME)).map(|(boot, start)| boot + start / ticks);
    gauge("process_start_time_seconds", Type::Gauge, "When it was started, in seconds since 1970.", start);
    let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
    gauge("process_open_fds", Type::Gauge, "Open files.", open);
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.map(|most| most as f64);
    gauge("process_max_fds", Type::Gauge, "Most open files.", most);
}

/// Fields of `/proc/self/stat`, by the numbers that its manual gives them.
const UTIME: usize = 14;
const STIME: usize = 15;
const STARTTIME: usize = 22;
const VSIZE: usize = 23;
const RSS: usize = 24;
/// The first field behind the program's name, which may contain anything.
const FIRST_BEHIND_NAME: usize = 3;

struct Stat(String);

// === impl Stat ===

impl Stat {
    fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        Some(Self(text.rsplit_once(')')?.1.to_owned()))
    }

    fn field(&self, number: usize) -> Option<f64> {
        self.0.split_whitespace().nth(number - FIRST_BEHIND_NAME)?.parse().ok()
    }
}

fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
