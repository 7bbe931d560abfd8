//! The whole program from outside, as those who depend on it meet it: over the network, with real clients, while it is
//! restarted, overloaded and lied to.
//!
//! These are tests of this package because cargo builds its program for them and tells where it is; they use nothing else
//! of it. They take one another's time on a small machine, so one runs at a time: see [`turn`].

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod attacks;
mod bombs;
mod claims;
mod clock;
mod controllers;
mod cores;
mod custom_resources;
mod follower;
mod greeter;
mod history;
mod kubectl;
mod lifecycle;
mod memory;
mod pressure;
mod restarts;
mod shutdown;
mod slow_watchers;
#[path = "../support/mod.rs"]
mod support;
mod turn;
mod writer;

use support::{client, process, scenario};
