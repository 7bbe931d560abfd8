//! The whole program from outside, as those who depend on it meet it: over the network, with real clients, while it is
//! restarted, overloaded and lied to.
//!
//! These are tests of this package because cargo builds its program for them and tells where it is; they use nothing else
//! of it. They take one another's time on a small machine, so one runs at a time: see [`turn`].

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod attacks;
mod bombs;
mod claims;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod controllers;
mod custom_resources;
mod follower;
mod greeter;
mod history;
mod kubectl;
mod lifecycle;
mod memory;
mod pressure;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod restarts;
#[path = "../support/scenario.rs"]
mod scenario;
mod shutdown;
mod slow_watchers;
mod turn;
mod writer;
