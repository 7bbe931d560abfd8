//! What the engine knows about itself, written in the same commit as the records it speaks of.

use uuid::Uuid;

use crate::revision::Revision;

const FORMAT: u8 = 1;
const LENGTH: usize = 1 + 16 + 8 + 8 + 4;

/// The store's own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Which store this is; a restored one is another.
    pub(super) id: Uuid,
    /// The newest revision given out.
    pub(super) revision: Revision,
    /// The oldest revision that can be read or watched from.
    pub(super) compacted: Revision,
}

/// Why stored bytes are no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateFault {
    Format(u8),
    Damaged,
}

impl State {
    /// A store whose next revision follows `first`.
    pub(super) fn new(first: Revision) -> Self {
        Self { id: Uuid::new_v4(), revision: first, compacted: first }
    }

    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = FORMAT;
        bytes[1..17].copy_from_slice(self.id.as_bytes());
        bytes[17..25].copy_from_slice(&self.revision.get().to_be_bytes());
        bytes[25..33].copy_from_slice(&self.compacted.get().to_be_bytes());
        let checksum = crc32fast::hash(&bytes[..33]);
        bytes[33..].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, StateFault> {
        match bytes.first() {
            Some(&FORMAT) => {}
            Some(&other) => return Err(StateFault::Format(other)),
            None => return Err(StateFault::Damaged),
        }
        let bytes: &[u8; LENGTH] = bytes.try_into().map_err(|_| StateFault::Damaged)?;
        let number = |at: usize| bytes[at..].first_chunk().copied().map(u64::from_be_bytes).map(Revision::new);
        let checksum = bytes.last_chunk().copied().map(u32::from_be_bytes);
        match (bytes[1..].first_chunk(), number(17), number(25), checksum) {
            (Some(id), Some(revision), Some(compacted), Some(checksum))
                if checksum == crc32fast::hash(&bytes[..33]) =>
            {
                Ok(Self { id: Uuid::from_bytes(*id), revision, compacted })
            }
            _ => Err(StateFault::Damaged),
        }
    }
}
