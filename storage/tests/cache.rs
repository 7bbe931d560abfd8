//! The cache, where it differs from a plain store: indexes, bounds, resets, and being wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod cache {
    mod bounds;
    mod damage;
    mod index;
    mod meddler;
    mod resets;
    mod seeded_bugs;
    mod watching;
}
