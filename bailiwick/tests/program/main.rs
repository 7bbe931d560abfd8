//! The program as people start it: a process, its output, its files and its signals.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod compatibility;
mod process;
mod snapshot;
mod start;
mod stop;
