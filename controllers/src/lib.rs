//! What happens after a write.
//!
//! Each loop is a client of the API like any other: it holds no store, passes authentication, authorization and admission,
//! and may run twice at once without harm, because every write says which state of which object it means.

mod garbage_collector;
mod leader_election;
mod queue;
mod served_kinds;

pub use garbage_collector::GarbageCollector;
pub use leader_election::{LeaderElection, LeaderElectionOptions};
