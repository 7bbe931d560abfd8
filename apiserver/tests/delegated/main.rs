//! Questions to a cluster that misbehaves: slow, broken, flapping, gone. A real one does not do so on demand; how a real one
//! is asked is tested with the whole program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod access;
mod cluster;
mod headers;
mod projects;
mod quotas;
mod tokens;
mod trust;
