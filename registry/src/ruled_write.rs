//! A write that rules look at before it happens: what is written, by whom, and how it is refused.

use bailiwick_machinery::{Cause, FieldError, FieldErrors, Object};
use k8s_openapi::Resource;
use serde::de::DeserializeOwned;

use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::served_kind::ServedKind;
use crate::typed::typed;

/// What is written, and by whom.
#[derive(Clone, Copy)]
pub(crate) struct RuledWrite<'w> {
    pub(crate) ctx: &'w Ctx<'w>,
    pub(crate) kind: &'w ServedKind,
    pub(crate) namespace: &'w str,
    pub(crate) name: &'w str,
}

// === impl RuledWrite ===

impl RuledWrite<'_> {
    pub(crate) fn invalid(&self, found: impl IntoIterator<Item = FieldError>) -> Error {
        let mut errors = FieldErrors::default();
        found.into_iter().for_each(|error| errors.push(error));
        self.refused(errors)
    }

    pub(crate) fn forbidden(&self, why: String, causes: Vec<Cause>) -> Error {
        Error::Forbidden { resource: self.kind.resource(), name: self.name.to_owned(), why, causes }
    }

    pub(crate) fn conflict(&self, why: String) -> Error {
        Error::Conflict { resource: self.kind.resource(), name: self.name.to_owned(), why }
    }

    /// Refuses it if there are errors.
    pub(crate) fn check(&self, errors: FieldErrors) -> Result<()> {
        errors.into_result().map_err(|errors| self.refused(errors))
    }

    /// The object as its type. What has not the form of it is refused in the words of its schema.
    pub(crate) fn read<T: Resource + DeserializeOwned>(&self, object: &Object) -> Result<T> {
        typed(object).or_else(|error| self.kind.validate(object).and(Err(error)))
    }

    fn refused(&self, errors: FieldErrors) -> Error {
        Error::Invalid { kind: self.kind.group_kind(), name: self.name.to_owned(), errors }
    }
}
