//! The bounds both engines hold to, so that what works on one works on the other. They leave room below etcd's own
//! defaults (128 operations, 1.5 MiB a request) for the guards and the envelope.

/// The most keys one transaction may write or check.
pub const MAX_TXN_OPERATIONS: usize = 100;

/// The most bytes of keys and values in one transaction.
pub const MAX_TXN_BYTES: usize = 1_310_720;

/// The largest value.
pub const MAX_VALUE_BYTES: usize = 1_048_576;
