//! The cache, where it differs from a plain store: indexes, bounds, resets, and being wrong.

mod cache {
    mod bounds;
    mod damage;
    mod index;
    mod meddler;
    mod resets;
    mod seeded_bugs;
    mod watching;
}
