//! How much memory a body may become.
//!
//! A body costs what its values cost, not what its bytes cost: `{"":0},` is eight bytes of text, and seven hundred once it is
//! read. So the values are charged for what they will take at most, before they are made.

use super::DecodeError;

/// The most memory that the values of one body may take.
pub const MAX_DECODED: usize = 28 * 1024 * 1024;

/// What an item of a list takes: 32 bytes, in a list that doubles when it is full and is then there twice.
const ITEM: usize = 96;
/// What a list takes beside its first items, because it begins with room for four.
const LIST: usize = 64;
/// What an object takes as soon as it has a field: room for eleven.
const OBJECT: usize = 640;
const ROOM: usize = 11;
/// What each further field takes, with room that is half empty.
const FIELD: usize = 128;
/// What a text takes beside its bytes, of which there may be room for twice as many.
const TEXT: usize = 16;
/// What YAML takes for a node until all have been read, beside the value that it becomes.
const NODE: usize = 176;
/// What it takes for the fields of a mapping until they are an object.
const MAPPING: usize = 720;
/// What it takes for a name that a node has.
const ANCHOR: usize = 128;

/// What is left to be taken.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: MAX_DECODED }
    }

    /// One more item in a list of so many.
    pub(crate) fn item(&mut self, before: usize) -> Result<(), DecodeError> {
        self.take(if before == 0 { ITEM + LIST } else { ITEM })
    }

    /// One more field in an object of so many.
    pub(crate) fn field(&mut self, before: usize) -> Result<(), DecodeError> {
        match before {
            0 => self.take(OBJECT),
            before if before < ROOM => Ok(()),
            _ => self.take(FIELD),
        }
    }

    /// A text of so many bytes.
    pub(crate) fn text(&mut self, length: usize) -> Result<(), DecodeError> {
        self.take(length.saturating_mul(2).saturating_add(TEXT))
    }

    /// A JSON text that is read apart. Everything in it that takes memory is opened by one of these, or follows one.
    pub(crate) fn json(&mut self, text: &[u8]) -> Result<(), DecodeError> {
        self.text(text.len())?;
        text.iter().try_for_each(|byte| match byte {
            b'{' => self.take(OBJECT),
            b'[' => self.take(ITEM + LIST),
            b',' => self.take(FIELD),
            _ => Ok(()),
        })
    }

    /// A node of a YAML document.
    pub(super) fn node(&mut self) -> Result<(), DecodeError> {
        self.take(NODE)
    }

    /// A node of a YAML document that is a mapping.
    pub(super) fn mapping(&mut self) -> Result<(), DecodeError> {
        self.take(MAPPING)
    }

    /// A node of a YAML document that has a name.
    pub(super) fn anchor(&mut self) -> Result<(), DecodeError> {
        self.take(ANCHOR)
    }

    fn take(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.left = self.left.checked_sub(bytes).ok_or(DecodeError::TooManyValues)?;
        Ok(())
    }
}
