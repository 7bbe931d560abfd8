//! One change of one key, as it lies in the log: an operation byte before the sealed value.

use bytes::Bytes;

use crate::envelope::{self, EnvelopeError};
use crate::key::Key;
use crate::revision::Revision;

const PUT: u8 = 1;
const DELETE: u8 = 2;

/// Where a record lies: the revision of its transaction, and which of its writes it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) revision: Revision,
    pub(super) ordinal: u32,
}

/// What a record says without its value.
pub(super) struct RecordHead {
    pub(super) key: Key,
    pub(super) deleted: bool,
}

/// The bytes of a record; no value means that the key was deleted.
pub(super) fn encode(position: Position, key: &Key, value: Option<&[u8]>) -> Vec<u8> {
    let operation = if value.is_some() { PUT } else { DELETE };
    let mut bytes = vec![operation];
    bytes.extend(envelope::seal(&context(position, operation), key, value.unwrap_or_default()));
    bytes
}

/// The key and value of a record.
pub(super) fn decode(position: Position, record: &Bytes) -> Result<(Key, Option<Bytes>), EnvelopeError> {
    let operation = *record.first().ok_or(EnvelopeError::Short)?;
    let (key, value) = envelope::open(&context(position, operation), &record.slice(1..))?;
    Ok((key, (operation == PUT).then_some(value)))
}

/// The key of a record, and whether it is a deletion. The value is not looked at.
pub(super) fn decode_head(position: Position, record: &[u8]) -> Result<RecordHead, EnvelopeError> {
    let (&operation, sealed) = record.split_first().ok_or(EnvelopeError::Short)?;
    let head = envelope::open_head(&context(position, operation), sealed)?;
    Ok(RecordHead { key: head.key, deleted: operation == DELETE })
}

/// What the checksum covers beside the value: a record found at another place, or with another operation, is damaged.
fn context(position: Position, operation: u8) -> [u8; 13] {
    let mut context = [0; 13];
    context[..8].copy_from_slice(&position.revision.get().to_be_bytes());
    context[8..12].copy_from_slice(&position.ordinal.to_be_bytes());
    context[12] = operation;
    context
}
