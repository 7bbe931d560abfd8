//! Catalogs as people use them: who may publish what, who may claim it, and what becomes of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod claims;
#[path = "../system/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod deputy;
mod entries;
mod extension;
mod following;
mod gathering;
mod going;
mod objects;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod restarts;
mod roles;
mod site;
