//! controllers.
