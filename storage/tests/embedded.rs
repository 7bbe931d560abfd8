//! The embedded engine under everything that can happen to a process and its disk.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod embedded {
    mod disk_errors;
    mod disk_full;
    mod folder;
    mod kill;
    mod power_loss;
    mod retention;
    mod snapshots;
}
