//! Values as they lie at rest, for tests of what becomes of damaged and forged ones.

use bytes::Bytes;

use crate::envelope::{self, EnvelopeError};
use crate::key::Key;

/// Seals a payload for a key, in a context that only the engine knows. The payload is no longer than a value may be.
pub fn seal(context: &[u8], key: &Key, payload: &[u8]) -> Vec<u8> {
    envelope::seal(context, key, payload)
}

/// Opens what was sealed in the same context.
pub fn open(context: &[u8], sealed: &Bytes) -> Result<(Key, Bytes), EnvelopeError> {
    envelope::open(context, sealed)
}
