//! The program behind a real kube-apiserver, as those meet it who use a cluster: through the aggregator and past it, while
//! parts of it are down, slow or restarted.
//!
//! All tests share one cluster, and one runs at a time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod cluster_outage;
mod direct;
mod etcd_outage;
mod harm;
mod identity;
mod kubectl;
mod ownership;
mod pod;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod replicas;
mod rotation;
#[path = "../support/scenario.rs"]
mod scenario;
mod world;
