//! Authentication from outside: what Kubernetes' own authenticators answered, and attacks that must fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod configuration;
mod cost;
mod issuer;
mod keys;
mod memory;
mod records;
mod rotation;
mod running;
mod service_accounts;
mod site;
mod slow;
mod spoofing;
mod tokens;
mod union;
