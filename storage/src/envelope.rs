//! How a value looks at rest: behind a version byte and two checksums, together with the key it belongs to.
//!
//! ```text
//! byte   0        1..5       5..9          9..13            13..15      15..15+k  …
//!        version  head CRC   payload CRC   payload length   key length  key       payload    (numbers: big end first)
//! ```
//!
//! The head's checksum covers everything before the payload and the context, which is what only the engine knows, such
//! as the revision a record is filed under. A value that was damaged, cut short, or came to lie under another key is
//! therefore found when it is read, and never served. Because the head has a checksum of its own, damage to a payload
//! can still be attributed to its key, and an index can be rebuilt without reading payloads.

use bytes::Bytes;

use crate::key::Key;

const VERSION: u8 = 1;
const HEAD: usize = 15;
/// Where the bytes that the head's checksum covers begin.
const CHECKED: usize = 5;

/// Why sealed bytes cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Shorter than it says.
    #[error("it is cut short")]
    Short,
    /// Written by a version of Bailiwick that uses another form.
    #[error("it has the storage version {0}, and this program reads version {VERSION}; use the version that wrote it")]
    Version(u8),
    /// The checksum of the head does not match.
    #[error("the checksum of its head does not match")]
    Head,
    /// The checksum of the payload does not match.
    #[error("the checksum of its payload does not match")]
    Payload,
    /// The key inside is not a key.
    #[error("it names no valid key")]
    Key,
}

/// The checked head of a sealed value.
pub(crate) struct Head {
    pub(crate) key: Key,
    payload_at: usize,
    payload_length: u32,
    payload_checksum: u32,
}

/// Seals `payload` for `key`.
pub(crate) fn seal(context: &[u8], key: &Key, payload: &[u8]) -> Vec<u8> {
    let key = key.as_str().as_bytes();
    let key_length = u16::try_from(key.len()).expect("a validated key has few, short segments");
    let payload_length = u32::try_from(payload.len()).expect("a validated value has at most a mebibyte");
    let mut sealed = Vec::with_capacity(HEAD + key.len() + payload.len());
    sealed.push(VERSION);
    sealed.extend([0; 4]);
    sealed.extend(crc32fast::hash(payload).to_be_bytes());
    sealed.extend(payload_length.to_be_bytes());
    sealed.extend(key_length.to_be_bytes());
    sealed.extend(key);
    let checksum = head_checksum(context, &sealed[CHECKED..]);
    sealed[1..CHECKED].copy_from_slice(&checksum.to_be_bytes());
    sealed.extend(payload);
    sealed
}

/// Opens what [`seal`] made with the same context. The payload shares the sealed bytes' memory.
pub(crate) fn open(context: &[u8], sealed: &Bytes) -> Result<(Key, Bytes), EnvelopeError> {
    let head = open_head(context, sealed)?;
    let payload = sealed.slice(head.payload_at..);
    if payload.len() < head.payload_length as usize {
        return Err(EnvelopeError::Short);
    }
    if payload.len() > head.payload_length as usize || crc32fast::hash(&payload) != head.payload_checksum {
        return Err(EnvelopeError::Payload);
    }
    Ok((head.key, payload))
}

/// Checks and reads only the head.
pub(crate) fn open_head(context: &[u8], sealed: &[u8]) -> Result<Head, EnvelopeError> {
    let Some((head, rest)) = sealed.split_first_chunk::<HEAD>() else {
        return Err(EnvelopeError::Short);
    };
    let [version, h0, h1, h2, h3, p0, p1, p2, p3, l0, l1, l2, l3, k0, k1] = *head;
    if version != VERSION {
        return Err(EnvelopeError::Version(version));
    }
    let key = rest.get(..usize::from(u16::from_be_bytes([k0, k1]))).ok_or(EnvelopeError::Short)?;
    let payload_at = HEAD + key.len();
    if head_checksum(context, &sealed[CHECKED..payload_at]) != u32::from_be_bytes([h0, h1, h2, h3]) {
        return Err(EnvelopeError::Head);
    }
    let key = Key::from_stored(key).map_err(|_| EnvelopeError::Key)?;
    let payload_checksum = u32::from_be_bytes([p0, p1, p2, p3]);
    let payload_length = u32::from_be_bytes([l0, l1, l2, l3]);
    Ok(Head { key, payload_at, payload_length, payload_checksum })
}

fn head_checksum(context: &[u8], checked: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[VERSION]);
    hasher.update(context);
    hasher.update(checked);
    hasher.finalize()
}

#[cfg(test)]
mod tests;
