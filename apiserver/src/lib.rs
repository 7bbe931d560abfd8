//! From socket to registry and back.

mod continue_token;

pub use continue_token::{ContinueToken, ContinueTokenError, Resume};
