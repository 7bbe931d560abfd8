//! The etcd engine against a real etcd: what happens when members, connections and data go and come back. What every
//! engine has to do is tested elsewhere; here is what only this one can get wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod basics;
mod cached;
mod compaction;
mod connect;
mod faults;
mod identity;
mod leader;
mod link;
mod outage;
mod quota;
mod rotation;
mod support;
