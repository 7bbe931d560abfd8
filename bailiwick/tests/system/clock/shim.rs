//! A library that is loaded before others into a program, and tells it another time: as many seconds off as a file says, which may
//! change while the program runs. What the program measures durations by stays as it is.
//!
//! It is built by the test that uses it, and is no part of any crate.

use std::ffi::{c_int, c_long};
use std::sync::OnceLock;

#[repr(C)]
pub struct TimeSpec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: c_long = 113;

const CLOCK_REALTIME: c_int = 0;

/// # Safety
///
/// As of the function of the same name in the C library, whose place it takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int {
    // SAFETY: whoever calls this has to pass what the system takes.
    let result = unsafe { syscall(CLOCK_GETTIME, clock as c_long, time) };
    if result == 0 && clock == CLOCK_REALTIME {
        // SAFETY: the system has written there.
        unsafe { (*time).seconds += offset() };
    }
    result as c_int
}

fn offset() -> i64 {
    static FILE: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os("BAILIWICK_TEST_CLOCK"));
    let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
