//! What the programs that measure have in common: our server as a process of its own, an administrator's connection to a
//! server, what Linux tells about a process, and how a figure is told beside its goal.

pub mod client;
pub mod ours;
pub mod process;
pub mod project;
pub mod verdict;

/// Why something could not be measured.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
