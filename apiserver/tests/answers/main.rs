//! Requests and their answers, without a connection: the server over a store in a temporary folder.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod abandoned;
mod authorization;
mod chain;
mod clock;
mod deadlines;
mod fields;
mod host;
mod host_kinds;
mod lists;
mod objects;
mod openapi;
mod site;
mod subresources;
mod watches;
