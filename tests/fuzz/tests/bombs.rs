//! S-19: small inputs that would be large values, and other inputs that are there to hurt: each has an answer of its class,
//! within a second and without much memory.
//!
//! The allocator counts, so one input runs at a time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod bombs {
    mod definitions;
    mod json;
    mod measure;
    mod patch;
    mod schema;
    mod selectors;
    mod values;
    mod yaml;
}
