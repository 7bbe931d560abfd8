//! slow_watchers.
