//! Quota allocations as people use them: an owner divides what was allotted, and nobody gets more.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod accounts;
#[path = "../system/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod division;
mod estate;
mod newcomers;
mod owners;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod projection;
mod races;
mod site;
