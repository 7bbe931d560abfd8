//! kubectl.
