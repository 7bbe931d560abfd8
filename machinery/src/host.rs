//! Kubernetes' own kinds: what their objects consist of, and what follows from that alone.
//!
//! Clients written in Go speak protobuf for these kinds, and patch them by rules that stand in the tags of Go's types. Both
//! need facts that no schema carries. They are a table, [`types.txt`](host/types.txt), made from the published Go packages;
//! everything here is one walk over that table:
//!
//! ```text
//! JSON ──accept──▶ JSON as Go's types have it ──to_protobuf──▶ bytes
//!                                             ◀──from_protobuf──
//! ```
//!
//! The table is read once, when the first of these kinds is asked for.

mod accept;
mod facts;
mod fill;
mod read;
mod table;
mod wire;
mod write;

use std::fmt;

use crate::group::GroupVersionKind;

pub use accept::TypeError;
pub use read::ReadError;
pub use write::WriteError;

pub(crate) use table::{Field, FieldKind, Message, Shape};

/// What the objects of one of Kubernetes' own kinds, or lists of them, consist of. Cheap to copy.
#[derive(Clone, Copy)]
pub struct HostType {
    message: &'static Message,
}

// === impl HostType ===

impl HostType {
    /// The type of a kind; none if it is not one of Kubernetes' own, or not one of those that are served here.
    pub fn of(gvk: &GroupVersionKind) -> Option<Self> {
        let message = table::table().kind(&gvk.group_version().to_string(), &gvk.kind)?;
        Some(Self { message })
    }

    pub(crate) fn message(self) -> &'static Message {
        self.message
    }

    /// The kinds there are: their `apiVersion` and `kind`.
    pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
        table::table().kinds()
    }
}

impl fmt::Debug for HostType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostType").field(&self.message.name()).finish()
    }
}

impl PartialEq for HostType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.message, other.message)
    }
}

#[cfg(test)]
mod tests;
