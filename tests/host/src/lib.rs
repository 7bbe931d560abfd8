//! Real peers for tests, in one line: `let etcd = Etcd::start().await?`.
//!
//! The programs are built once by the installed Go from modules pinned in this crate ([`tool`]) and run on loopback ports with
//! their data in a temporary folder. What a test may do to them is what happens to them in production: be killed, stall, stop,
//! come back, lose their data ([`Member`]), or be cut off from their clients ([`Link`]). Nothing here knows Bailiwick's own code.
//!
//! A peer ends with the value that holds it. One in a `static` ends with the test process, but leaves its folder behind; one for
//! each test is better, and an etcd of one member starts in a third of a second.

mod daemon;
mod error;
mod etcd;
mod http;
mod link;
pub mod pki;
mod port;
mod process;
pub mod tool;

pub use daemon::Daemon;
pub use error::Error;
pub use etcd::Etcd;
pub use etcd::EtcdOptions;
pub use etcd::EtcdTls;
pub use etcd::Member;
pub use link::Link;
pub use port::Port;
