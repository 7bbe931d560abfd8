//! The same requests to two API servers, and where their answers differ.
//!
//! A case file under `cases/` is text that reads like a conversation ([`scenario`] describes it). [`run`] holds each
//! conversation with a server, [`normal`] replaces what no two servers have in common (uids, times, revisions) by what the
//! values have to do with each other, [`compare`] finds what is left, and [`accepted`] knows which differences are wanted.
//!
//! Nothing here knows what the right answer is: a real kube-apiserver does.

pub mod accepted;
pub mod client;
pub mod compare;
mod error;
mod expand;
pub mod kubeconfig;
mod made;
mod mutations;
pub mod normal;
pub mod record;
pub mod run;
pub mod scenario;
pub mod suite;
pub mod target;

pub use error::Error;
pub use suite::Outcome;
pub use suite::Suite;
pub use target::Target;
