//! Controllers, on a server in the same process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod brittle;
mod bundles;
mod catalog_claims;
mod claims;
mod garbage_collector;
mod in_each_namespace;
mod namespaces;
mod organizations;
mod site;
