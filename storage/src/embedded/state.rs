//! What the engine knows about itself, written in the same commit as the records it speaks of.

use uuid::Uuid;

use super::record::Position;
use crate::revision::Revision;

const FORMAT: u8 = 1;
const CHECKED: usize = 1 + 16 + 4 * 8;
const LENGTH: usize = CHECKED + 4;

/// The store's own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Which store this is; a restored one is another.
    pub(super) id: Uuid,
    /// The newest revision given out.
    pub(super) revision: Revision,
    /// The oldest revision that can be read or watched from.
    pub(super) compacted: Revision,
    /// Which records the log holds.
    pub(super) census: Census,
}

/// A count and a checksum of the places where records lie, the same in whatever order they are added and removed. A
/// record guards its own bytes; this guards against one that is missing as a whole, because a page that should lead to
/// it is damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    records: u64,
    sum: u64,
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
        Self { id: Uuid::new_v4(), revision: first, compacted: first, census: Census::default() }
    }

    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = FORMAT;
        bytes[1..17].copy_from_slice(self.id.as_bytes());
        let numbers = [self.revision.get(), self.compacted.get(), self.census.records, self.census.sum];
        for (place, number) in bytes[17..CHECKED].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        let checksum = crc32fast::hash(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, StateFault> {
        match bytes.first() {
            Some(&FORMAT) => {}
            Some(&other) => return Err(StateFault::Format(other)),
            None => return Err(StateFault::Damaged),
        }
        Self::decode_checked(bytes).ok_or(StateFault::Damaged)
    }

    fn decode_checked(bytes: &[u8]) -> Option<Self> {
        let (checked, checksum) = bytes.split_at_checked(CHECKED)?;
        if u32::from_be_bytes(checksum.try_into().ok()?) != crc32fast::hash(checked) {
            return None;
        }
        let (numbers, _) = checked[17..].as_chunks::<8>();
        let number = |nth: usize| numbers.get(nth).copied().map(u64::from_be_bytes);
        Some(Self {
            id: Uuid::from_slice(&checked[1..17]).ok()?,
            revision: Revision::new(number(0)?),
            compacted: Revision::new(number(1)?),
            census: Census { records: number(2)?, sum: number(3)? },
        })
    }
}

// === impl Census ===

impl Census {
    pub(super) fn add(&mut self, position: Position) {
        self.records = self.records.wrapping_add(1);
        self.sum = self.sum.wrapping_add(mix(position));
    }

    pub(super) fn remove(&mut self, position: Position) {
        self.records = self.records.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(mix(position));
    }
}

/// Spreads a place over 64 bits, so that sums of different places differ.
fn mix(position: Position) -> u64 {
    let place = position.revision.get().wrapping_mul(128).wrapping_add(u64::from(position.ordinal));
    let mixed = (place ^ (place >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(revision: u64, ordinal: u32) -> Position {
        Position { revision: Revision::new(revision), ordinal }
    }

    #[test]
    fn a_state_comes_back_and_damage_is_noticed() {
        let mut state = State::new(Revision::new(7));
        state.census.add(at(3, 1));
        let bytes = state.encode();
        assert_eq!(State::decode(&bytes), Ok(state));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(State::decode(&damaged).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(State::decode(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn a_census_knows_what_is_there_in_any_order() {
        let (mut one, mut other) = (Census::default(), Census::default());
        for position in [at(1, 0), at(1, 1), at(2, 0), at(9, 0)] {
            one.add(position);
        }
        for position in [at(9, 0), at(5, 0), at(1, 1), at(2, 0), at(1, 0)] {
            other.add(position);
        }
        assert_ne!(one, other);
        other.remove(at(5, 0));
        assert_eq!(one, other);
        other.remove(at(9, 0));
        other.add(at(8, 0));
        assert_ne!(one, other);
    }
}
