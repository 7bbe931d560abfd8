//! Installation, tried in a real cluster: what is printed is accepted and does what it says.
//!
//! The cluster has no nodes, so nothing that is deployed runs; a server is registered as one that runs outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod aliases;
mod catalogs;
mod deeds;
mod guards;
mod held;
mod life;
mod organizations;
mod printed;
mod quotas;
mod removal;
mod rights;
#[path = "../support/mod.rs"]
mod support;
mod webhook;

use support::{direct, host, process, world};
