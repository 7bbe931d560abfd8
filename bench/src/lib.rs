//! What the programs that measure have in common: our server as a process of its own, alone or behind a cluster, an administrator's connection to a
//! server, what Linux tells about a process, questions at a steady rate, what a webhook makes a cluster
//! wait, and how a figure is told beside its goal.

pub mod behind;
pub mod client;
pub mod ours;
pub mod process;
pub mod project;
pub mod steady;
pub mod verdict;
pub mod webhook;

/// Why something could not be measured.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
