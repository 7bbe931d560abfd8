//! What stands around an encoded object in a watch stream.
//!
//! An object is encoded once and its bytes are shared by all watchers; only the few bytes around them belong to the event.
//! In JSON these are `{"type":"ADDED","object":`, the object, and `}` with a line break. In protobuf there is nothing after
//! the object:
//!
//! ```text
//! 00 00 00 0f   0a 05 41 44 44 45 44   12 06   0a 04   ....
//! length        type: "ADDED"          object  raw     the object in its envelope
//! ```

use std::fmt;

use crate::proto;

/// What has happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// It was created, or the watch begins with it.
    Added,
    /// It was changed.
    Modified,
    /// It was removed.
    Deleted,
    /// Nothing; but the watch has come this far.
    Bookmark,
    /// The watch has failed, and the object says why.
    Error,
}

/// What comes before an object in a protobuf watch stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    bytes: [u8; Self::MOST],
    length: usize,
}

/// The object is too long for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object of {length} bytes does not fit into a frame")]
pub struct FrameTooLong {
    /// How long it is.
    pub length: usize,
}

/// What comes after an object in a JSON watch stream.
pub const JSON_TAIL: &[u8] = b"}\n";

// === impl EventType ===

impl EventType {
    /// As it is written in an event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }

    /// What comes before the object in a JSON watch stream.
    pub fn json_head(self) -> &'static [u8] {
        match self {
            Self::Added => b"{\"type\":\"ADDED\",\"object\":",
            Self::Modified => b"{\"type\":\"MODIFIED\",\"object\":",
            Self::Deleted => b"{\"type\":\"DELETED\",\"object\":",
            Self::Bookmark => b"{\"type\":\"BOOKMARK\",\"object\":",
            Self::Error => b"{\"type\":\"ERROR\",\"object\":",
        }
    }

    /// What comes before an object of so many bytes, its envelope included, in a protobuf watch stream.
    pub fn proto_head(self, object_length: usize) -> Result<FrameHead, FrameTooLong> {
        let mut head = FrameHead { bytes: [0; FrameHead::MOST], length: 0 };
        let mut rest = head.bytes.as_mut_slice();
        proto::write_event_head(self.as_str(), object_length, &mut rest)
            .ok_or(FrameTooLong { length: object_length })?;
        head.length = FrameHead::MOST - rest.len();
        Ok(head)
    }
}

// === impl FrameHead ===

impl FrameHead {
    /// Four bytes of length, ten of the longest type, two keys and two lengths of at most five bytes each.
    pub(crate) const MOST: usize = 4 + 10 + 2 * (1 + 5);

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl fmt::Debug for FrameHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameHead").field(&self.as_bytes()).finish()
    }
}

#[cfg(test)]
mod tests;
