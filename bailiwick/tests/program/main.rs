//! The program as people start it: a process, its output, its files and its signals.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod compatibility;
mod documents;
mod openapi;
mod process;
mod snapshot;
mod start;
mod stop;
