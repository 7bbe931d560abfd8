//! An object in memory, and what makes it of stored bytes.

use std::sync::Arc;

use bytes::Bytes;

use super::term::{Interner, Term, TermList, Terms};
use crate::error::{CorruptFault, Error, Result};
use crate::key::Key;
use crate::revision::Revision;
use crate::tree::Item;

/// Turns stored bytes into what readers get. Called once for each version of an object, in revision order; and again for those
/// that are made again ([`Cache::remake`](super::Cache::remake)).
pub trait Extract: Send + Sync + 'static {
    /// The bytes to serve for the value `stored` at `revision`; what it can be found by goes into `terms`.
    fn extract(
        &self,
        key: &Key,
        revision: Revision,
        stored: Bytes,
        terms: &mut Terms<'_>,
    ) -> Result<Bytes, Undecodable>;
}

/// Why stored bytes are no object.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Undecodable(pub Arc<str>);

/// Serves values as they are stored and finds them by key only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsStored;

/// One version of an object. Encoded once, shared by all who read it.
#[derive(Debug)]
pub struct Object {
    key: Key,
    revision: Revision,
    content: Result<Bytes, CorruptFault>,
    terms: TermList,
}

/// An object in its place, with what tells it from its neighbours without looking at it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) object: Arc<Object>,
    pub(super) digest: u32,
}

// === impl AsStored ===

impl Extract for AsStored {
    fn extract(&self, _: &Key, _: Revision, stored: Bytes, _: &mut Terms<'_>) -> Result<Bytes, Undecodable> {
        Ok(stored)
    }
}

// === impl Object ===

impl Object {
    /// Makes an object of what is stored. Damage becomes part of it: the key is known, its value cannot be served.
    pub(super) fn new(
        extract: &dyn Extract,
        interner: &mut Interner,
        key: Key,
        revision: Revision,
        stored: Result<Bytes, CorruptFault>,
    ) -> Self {
        let mut terms = Terms::new(interner);
        let content = stored.and_then(|stored| {
            let extracted = extract.extract(&key, revision, stored, &mut terms);
            extracted.map_err(|undecodable| CorruptFault::Undecodable(undecodable.0))
        });
        Self { key, revision, content, terms: terms.finish() }
    }

    /// Where it lies.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// When it was last written.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The bytes to serve; an error if what is stored is damaged.
    pub fn body(&self) -> Result<&Bytes> {
        let corrupt = |fault: &CorruptFault| Error::Corrupt { key: self.key.to_string(), fault: fault.clone() };
        self.content.as_ref().map_err(corrupt)
    }

    /// What it can be found by, in order.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub(super) fn fault(&self) -> Option<&CorruptFault> {
        self.content.as_ref().err()
    }

    pub(super) fn body_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Bytes::len)
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(object: Arc<Object>) -> Self {
        Self { digest: object.key.digest(), object }
    }
}

impl Item for Entry {
    type Key = Key;

    fn key(&self) -> &Key {
        &self.object.key
    }
}
