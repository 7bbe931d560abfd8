//! Bytes that can be read only so often.
//!
//! A message costs what its parts cost, not what its bytes cost: a list item of two bytes becomes a struct of hundreds.
//! prost has no limit for that, but it reads everything through [`Buf`], and each key, each length, each number and each
//! text is one read. So the reads are counted, and when too many were made, the bytes end.

use bytes::{Buf, Bytes};

/// Bytes, and how many reads are left.
pub(super) struct Budget {
    bytes: Bytes,
    reads: usize,
}

/// The longest number. prost asks once whether one can be read and then reads it byte by byte, if so few bytes are left;
/// they must not end before it has.
const LONGEST_VARINT: usize = 10;

// === impl Budget ===

impl Budget {
    pub(super) fn new(bytes: Bytes, reads: usize) -> Self {
        Self { bytes, reads }
    }

    /// Whether the bytes ended before their end.
    pub(super) fn is_used_up(&self) -> bool {
        self.reads == 0 && self.bytes.len() > LONGEST_VARINT
    }

    fn charge(&mut self) {
        self.reads = self.reads.saturating_sub(1);
    }
}

impl Buf for Budget {
    fn remaining(&self) -> usize {
        if self.is_used_up() { 0 } else { self.bytes.len() }
    }

    fn chunk(&self) -> &[u8] {
        if self.is_used_up() { &[] } else { &self.bytes }
    }

    fn advance(&mut self, count: usize) {
        self.charge();
        self.bytes.advance(count);
    }

    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        self.charge();
        self.bytes.copy_to_bytes(count)
    }
}
