//! What all writes have in common: how they begin from the object there is, and how they become durable.

use std::sync::Arc;

use bailiwick_machinery::Object;
use bailiwick_machinery::apply::Writer;
use bailiwick_machinery::decode::FieldValidation;
use bailiwick_storage::cache::Object as CachedObject;
use bailiwick_storage::{self as storage, At, Key, MAX_VALUE_BYTES, Store};
use bytes::Bytes;

use crate::context::Ctx;
use crate::encoded::{self, Encoded};
use crate::error::{Error, Result};
use crate::read::{encoded, failed, not_found};
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::turns::Turn;
use crate::update::Part;

/// How often a write begins anew because others were faster, before it is given up.
pub(crate) const MAX_ATTEMPTS: usize = 100;

/// How to write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Whether nothing shall be stored.
    pub dry_run: bool,
    /// What to do about fields that are unknown or there twice.
    pub validation: FieldValidation,
    /// What was found while the object was read: fields that are there twice.
    pub problems: Vec<String>,
    /// Who writes, as far as the ownership of fields goes.
    pub tracking: Tracking,
}

/// Whom the fields belong to that a write sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// This field manager.
    Manager(String),
    /// The object says so already: it is the result of an apply.
    Done,
}

// === impl Tracking ===

impl Default for Tracking {
    fn default() -> Self {
        Self::Manager("unknown".to_owned())
    }
}

impl Tracking {
    /// Says in `new` who owns its fields. A write does not fail because that cannot be said.
    pub(crate) fn track(&self, ctx: &Ctx<'_>, kind: &ServedKind, part: Part, live: Option<&Object>, new: &mut Object) {
        let Self::Manager(manager) = self else { return };
        let writer = Writer { manager, subresource: part.subresource(), time: ctx.seconds() };
        // After an error the object has no owners, as upstream has it.
        let _ = kind.fields().track_update(live, new, writer);
    }
}

/// What became of a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it is now.
    pub object: Encoded,
    /// What the client should know.
    pub warnings: Vec<String>,
}

// === impl Written ===

impl Written {
    /// With what was to be known before the object was.
    pub(crate) fn with_warnings(mut self, earlier: Vec<String>) -> Self {
        self.warnings.splice(..0, earlier);
        self
    }
}

/// The object that a write begins from.
pub(crate) struct Current {
    pub(crate) cached: Arc<CachedObject>,
    pub(crate) object: Object,
    /// Whether it is the newest one for sure. What is refused on the ground of an older one may be right by now.
    pub(crate) certain: bool,
}

/// What to do after a commit that failed.
pub(crate) enum Retry {
    /// Someone else was faster: begin from what they wrote.
    Again(Box<Current>),
    /// The object is gone.
    Gone,
}

// === impl Registry ===

impl Registry {
    /// The object to begin from, and the turn to write it where several want to. Asking the store first would cost a round
    /// trip, and the cached object is nearly always the newest unless someone has just written it; where the engine knows its
    /// revision without asking, the newest costs nothing.
    pub(crate) async fn begin(&self, kind: &ServedKind, key: &Key) -> Result<(Current, Option<Turn<'_>>)> {
        let turn = self.turns().join(key).await;
        if turn.is_none()
            && self.cache().known_revision().is_none()
            && let Some(found) = self.current(kind, key, At::Any).await?
        {
            return Ok((found, turn));
        }
        let newest = self.newest(kind, key).await?.ok_or_else(|| not_found(kind, key.name()))?;
        Ok((newest, turn))
    }

    /// After something was refused on the ground of `seen`: what to try again with, if that was not the newest.
    pub(crate) async fn newer(&self, kind: &ServedKind, seen: &Current) -> Result<Option<Current>> {
        if seen.certain {
            return Ok(None);
        }
        let key = seen.cached.key();
        let newest = self.newest(kind, key).await?.ok_or_else(|| not_found(kind, key.name()))?;
        Ok(Some(newest).filter(|newest| newest.cached.revision() != seen.cached.revision()))
    }

    /// Where to go on after a commit failed: who has lost a race goes on when it is their turn, so that nobody loses for
    /// ever. Who holds the turn for an object may wait for that of a row beside it, and nobody does the reverse.
    pub(crate) async fn after_failure<'t>(
        &'t self,
        operation: &'static str,
        kind: &ServedKind,
        key: &Key,
        error: storage::Error,
        turn: &mut Option<Turn<'t>>,
    ) -> Result<Retry> {
        let storage::Error::Conflict(_) = error else { return Err(failed(operation, kind, error)) };
        if turn.is_none() {
            *turn = Some(self.turns().wait(key.clone()).await);
        }
        Ok(match self.newest(kind, key).await? {
            Some(current) => Retry::Again(Box::new(current)),
            None => Retry::Gone,
        })
    }

    async fn newest(&self, kind: &ServedKind, key: &Key) -> Result<Option<Current>> {
        let found = self.current(kind, key, At::Latest).await?;
        Ok(found.map(|found| Current { certain: true, ..found }))
    }

    /// The object at a key, as new as is asked for.
    pub(crate) async fn current(&self, kind: &ServedKind, key: &Key, at: At) -> Result<Option<Current>> {
        let (_, cached) = self.cache().get_object(key, at).await.map_err(|error| failed("get", kind, error))?;
        let Some(cached) = cached else { return Ok(None) };
        let object = kind.read(&encoded(kind, &cached)?);
        let object = object.map_err(|error| error.about(&kind.resource(), key.name()))?;
        Ok(Some(Current { cached, object, certain: false }))
    }
}

// === impl Current ===

impl Current {
    pub(crate) fn encoded(&self, kind: &ServedKind) -> Result<Encoded> {
        encoded(kind, &self.cached)
    }
}

/// The object as it is stored, if that is possible.
pub(crate) fn to_stored(kind: &ServedKind, object: &Object) -> Result<Bytes> {
    let stored = encoded::stored(kind.stored_head(), &kind.in_stored_form(object));
    if stored.len() > MAX_VALUE_BYTES {
        let name = object.metadata().name().to_owned();
        return Err(Error::TooLarge { resource: kind.resource(), name, bytes: stored.len() });
    }
    Ok(stored.into())
}

/// What is served for what was stored.
pub(crate) fn to_served(kind: &ServedKind, name: &str, stored: &[u8], revision: Option<u64>) -> Result<Encoded> {
    Encoded::from_stored(stored, revision).map_err(|error| error.about(&kind.resource(), name))
}

pub(crate) fn contended(kind: &ServedKind, name: &str) -> Error {
    Error::Contended { resource: kind.resource(), name: name.to_owned() }
}

pub(crate) fn modified(kind: &ServedKind, name: &str) -> Error {
    Error::Modified { resource: kind.resource(), name: name.to_owned() }
}
