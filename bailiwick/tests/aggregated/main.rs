//! The program behind a real kube-apiserver, as those meet it who use a cluster: through the aggregator and past it, while
//! parts of it are down, slow or restarted.
//!
//! All tests share one cluster, and one runs at a time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod accounts;
mod cluster_outage;
mod etcd_outage;
mod giving;
mod harm;
mod identity;
mod kubectl;
mod ownership;
mod pod;
mod replicas;
mod rolling;
mod rotation;
#[path = "../support/mod.rs"]
mod support;
mod world;

use support::{direct, host, process, scenario};
