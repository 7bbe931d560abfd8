//! Organizations as people use them: who may form groups, what the groups may do, and where.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod access;
mod bindings;
#[path = "../system/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod groups;
mod guards;
mod kubectl;
mod people;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod races;
#[allow(dead_code, reason = "it is shared with tests of other kinds")]
mod site;
mod status;
