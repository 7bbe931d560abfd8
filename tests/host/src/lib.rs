//! Real peers for tests, in one line: `let etcd = Etcd::start().await?`, `let cluster = Cluster::start().await?`.
//!
//! The programs are built once by the installed Go from modules pinned in this crate ([`tool`]) and run on loopback ports with
//! their data in a temporary folder. What a test may do to them is what happens to them in production: be killed, stall, stop,
//! come back ([`Daemon`]), lose their data ([`Member`]), or be cut off from their clients ([`Link`]). Nothing here knows
//! Bailiwick's own code.
//!
//! A peer ends with the value that holds it. One in a `static` ends with the test process, but leaves its folder behind and does
//! not show its log; one for each test is better for an [`Etcd`], which starts in a third of a second. A [`Cluster`] takes about
//! six and a few hundred megabytes: tests that can share one do, in a `static` [`tokio::sync::OnceCell`], and use names of their
//! own in it. No runtime is needed to keep it.

mod balancer;
mod cluster;
mod daemon;
mod error;
mod etcd;
mod http;
mod kubeconfig;
mod kubectl;
mod link;
pub mod pki;
mod port;
mod process;
mod random;
pub mod tool;

pub use balancer::Balancer;
pub use cluster::AuthorizationWebhook;
pub use cluster::Cluster;
pub use cluster::ClusterOptions;
pub use cluster::ClusterTls;
pub use cluster::SERVICE_HOST;
pub use cluster::SampleApiserver;
pub use daemon::Daemon;
pub use error::Error;
pub use etcd::Etcd;
pub use etcd::EtcdOptions;
pub use etcd::EtcdTls;
pub use etcd::Member;
pub use http::Tls;
pub use kubectl::Kubectl;
pub use kubectl::Output;
pub use link::Link;
pub use port::Port;
pub use process::Process;
pub use random::Random;
