//! Authentication from outside: what Kubernetes' own authenticators answered, and attacks that must fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]
#![allow(dead_code)]

mod configuration;
mod issuer;
mod keys;
mod site;
mod tokens;
mod union;
