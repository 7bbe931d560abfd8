//! The program as people start it: a process, its output, its files and its signals.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod access;
mod audit;
mod authentication;
mod compatibility;
mod documents;
mod etcd_certificates;
mod host;
mod https;
mod keys;
mod openapi;
mod readme;
mod snapshot;
mod start;
mod stop;
#[path = "../support/mod.rs"]
mod support;

use support::{direct, process};
