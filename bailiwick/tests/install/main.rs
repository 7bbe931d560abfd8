//! Installation, tried in a real cluster: what is printed is accepted and does what it says.
//!
//! The cluster has no nodes, so nothing that is deployed runs; a server is registered as one that runs outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod aliases;
mod catalogs;
mod deeds;
#[path = "../aggregated/direct.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod direct;
mod guards;
#[path = "../support/host.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod host;
mod life;
mod organizations;
mod printed;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod quotas;
mod rights;
mod webhook;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod world;
