//! Protobuf as it lies on the wire: numbers, lengths, and the parts that nobody knows. The errors are those of the code that
//! upstream generates.

use super::ReadError;

/// Bytes that are being read.
pub(super) struct Wire<'b> {
    rest: &'b [u8],
    /// In how many messages these bytes are.
    depth: usize,
}

/// An entry of a map that is being read.
pub(super) struct Entry<'b> {
    wire: Wire<'b>,
    /// How many bytes follow it.
    end: usize,
}

/// How the value of a field lies on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) number: u32,
    pub(super) wire_type: u8,
}

/// In how many messages a value may be: a schema consists of schemas, and what is read can come from anyone.
pub(super) const MAX_DEPTH: usize = 500;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const DELIMITED: u8 = 2;
const GROUP: u8 = 3;
const GROUP_END: u8 = 4;
const FIXED32: u8 = 5;

// === impl Wire ===

impl<'b> Wire<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    /// The bytes of a message that is a value here.
    pub(super) fn message(&mut self) -> Result<Self, ReadError> {
        if self.depth == MAX_DEPTH {
            return Err(ReadError::TooDeep);
        }
        Ok(Self { rest: self.delimited()?, depth: self.depth + 1 })
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field of a message; none at its end. What is not known is to be skipped.
    pub(super) fn key(&mut self, message: &'static str) -> Result<Option<Key>, ReadError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let wire_type = (key & 7) as u8;
        if wire_type == GROUP_END {
            return Err(ReadError::StrayGroupEnd { message });
        }
        // Upstream cuts the number to 32 bits.
        let number = (key >> 3) as i32;
        match u32::try_from(number) {
            Ok(1..) => Ok(Some(Key { number: number.unsigned_abs(), wire_type })),
            _ => Err(ReadError::IllegalTag { message, number, key }),
        }
    }

    /// The parts of an entry of a map. Upstream reads them from the message that the entry is part of, and notices only then
    /// that one has gone beyond the entry.
    pub(super) fn entry(&mut self) -> Result<Entry<'b>, ReadError> {
        let whole = self.rest;
        let content = self.delimited()?;
        let before = whole.len() - self.rest.len() - content.len();
        let wire = Self { rest: whole.get(before..).unwrap_or_default(), depth: self.depth };
        Ok(Entry { wire, end: self.rest.len() })
    }

    pub(super) fn varint(&mut self) -> Result<u64, ReadError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(ReadError::UnexpectedEnd)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ReadError::Overflow)
    }

    pub(super) fn delimited(&mut self) -> Result<&'b [u8], ReadError> {
        let length = i64::try_from(self.varint()?).map_err(|_| ReadError::NegativeLength)?;
        self.take(usize::try_from(length).map_err(|_| ReadError::UnexpectedEnd)?)
    }

    pub(super) fn float(&mut self) -> Result<f64, ReadError> {
        let bytes = self.take(8)?.try_into().map_err(|_| ReadError::UnexpectedEnd)?;
        Ok(f64::from_le_bytes(bytes))
    }

    /// Passes over the value of a field, groups and all that is in them included.
    pub(super) fn skip(&mut self, key: Key) -> Result<(), ReadError> {
        let mut wire_type = key.wire_type;
        let mut depth = 0_usize;
        loop {
            match wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                DELIMITED => drop(self.delimited()?),
                GROUP => depth += 1,
                GROUP_END => depth = depth.checked_sub(1).ok_or(ReadError::StrayEnd)?,
                FIXED32 => drop(self.take(4)?),
                other => return Err(ReadError::IllegalWireType { wire_type: other }),
            }
            if depth == 0 {
                return Ok(());
            }
            wire_type = (self.varint()? & 7) as u8;
        }
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], ReadError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ReadError::UnexpectedEnd)?;
        self.rest = rest;
        Ok(taken)
    }
}

// === impl Entry ===

impl<'b> Entry<'b> {
    /// The next part; none at the end.
    pub(super) fn key(&mut self) -> Result<Option<Key>, ReadError> {
        if self.wire.rest.len() <= self.end {
            return Ok(None);
        }
        let key = self.wire.varint()?;
        Ok(Some(Key { number: ((key >> 3) as i32).cast_unsigned(), wire_type: (key & 7) as u8 }))
    }

    /// Where the value of a part is read from.
    pub(super) fn value(&mut self) -> &mut Wire<'b> {
        &mut self.wire
    }

    /// Passes over a part that is neither key nor value.
    pub(super) fn skip(&mut self, key: Key) -> Result<(), ReadError> {
        self.wire.skip(key)?;
        if self.wire.rest.len() < self.end { Err(ReadError::UnexpectedEnd) } else { Ok(()) }
    }
}

// === impl Key ===

impl Key {
    /// Refuses a value that lies on the wire in another way than its field's.
    pub(super) fn expect(self, wire_type: u8, field: &str) -> Result<(), ReadError> {
        if self.wire_type == wire_type {
            return Ok(());
        }
        Err(ReadError::WrongWireType { found: self.wire_type, field: field.to_owned() })
    }
}
