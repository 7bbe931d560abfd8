//! Roles and bindings: the same as Kubernetes makes of them, and no way to more rights than one has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod differential;
mod guard;
mod random;
mod shipped;
mod walks;
mod world;

/// How many cases a test runs: few in passing, or as many as the variable says.
fn cases(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}
