//! What strangers may send to the parsers.
//!
//! A [`Target`] is a plain function of bytes that panics when a property does not hold. The ordinary tests run each of
//! them on a committed corpus and on inputs that are made of it; see the README for how to run them longer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod campaign;
mod corpus;
mod mutate;
pub mod targets;

pub use bailiwick_test_host::Random;
pub use campaign::{Campaign, Failure, Report, Stop};
pub use corpus::{Seed, corpus, corpus_folder};
pub use mutate::Mutator;
pub use targets::{TARGETS, Target};
