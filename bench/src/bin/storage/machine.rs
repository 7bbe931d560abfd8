//! What the machine says about this process and about how much others disturb it.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How often the same piece of work is timed to see how the machine's speed varies.
const TRIALS: usize = 40;
const WORK: u64 = 4_000_000;

/// How disturbed the machine is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// The slowest trial over the fastest.
    spread: f64,
    /// The average number of runnable threads in the last minute.
    load: f64,
}

impl Noise {
    /// Times the same work again and again; takes about a tenth of a second.
    pub(crate) fn measure() -> Self {
        let mut times: Vec<Duration> = (0..TRIALS).map(|_| trial()).collect();
        times.sort_unstable();
        let spread = match (times.first(), times.last()) {
            (Some(fastest), Some(slowest)) => slowest.as_secs_f64() / fastest.as_secs_f64(),
            _ => f64::NAN,
        };
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN);
        Self { spread, load }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZeroUsize::get);
        write!(
            f,
            "load average {:.1} on {cores} cores; the same work took up to {:.1} times as long as at best.",
            self.load, self.spread
        )
    }
}

/// The processor time this process has used, in user and system mode.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// How much memory this process occupies.
pub(crate) fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc/self/statm");
    let pages: usize = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("it has a number");
    pages * rustix::param::page_size()
}

fn trial() -> Duration {
    let began = Instant::now();
    let mut state = 1_u64;
    for step in 0..WORK {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
    black_box(state);
    began.elapsed()
}
