//! bombs.
