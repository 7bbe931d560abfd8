//! What an input costs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The largest body that a server takes.
pub(super) const BODY: usize = bailiwick_apiserver::MAX_BODY_BYTES;

/// What an input may cost, beside itself.
const MOST_MEMORY: usize = 32 << 20;
const MOST_TIME: Duration = Duration::from_secs(1);

static ALONE: Mutex<()> = Mutex::new(());

/// What every test here begins with: memory is counted for the whole process.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something that makes copies of its input, and fails if it takes too long.
pub(super) fn settled_in_time<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let began = thread_time();
    let result = run();
    let took = thread_time() - began;
    assert!(took < MOST_TIME, "{what}: took {took:?}");
    result
}

/// Runs something, and fails if it takes too long or too much memory. What it returns is counted, too.
pub(super) fn settled<T>(what: &str, run: impl FnOnce() -> T) -> T {
    assert!(ALONE.try_lock().is_err(), "the test did not begin with `alone`");
    MEMORY.reset_peak_usage();
    let (before, began) = (MEMORY.current_usage(), thread_time());
    let result = run();
    let (took, more) = (thread_time() - began, MEMORY.peak_usage().saturating_sub(before));
    assert!(took < MOST_TIME, "{what}: took {took:?}");
    assert!(more <= MOST_MEMORY, "{what}: took {} KiB", more >> 10);
    result
}

/// The thread's own time: the machine may be busy with other tests.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// As much of a piece as fits into a body.
pub(super) fn full_of(piece: &str) -> String {
    piece.repeat(BODY / piece.len())
}
