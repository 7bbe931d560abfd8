//! The versions of a kind, and one object in several of them.
//!
//! All versions of a kind have the same fields, up to what their schemas allow and to what some of them are called: an object is put
//! into another version by changing its `apiVersion`, and these names.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value;

use super::reconcile::with_named_fields;
use super::set::FieldSet;
use super::to_set::to_set;
use super::types::Type;
use super::validate::{Duplicates, TypeErrors, validate};
use crate::{GroupVersion, Renamed};

/// The versions of a kind.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    own: (GroupVersion, Type),
    others: Vec<(GroupVersion, Type)>,
    /// Those in which some fields have other names.
    renamed: Vec<(GroupVersion, Renamed)>,
}

/// An object in a version. A copy is cheap.
#[derive(Clone, Debug)]
pub(super) struct Typed<'o> {
    pub(super) value: Held<'o>,
    pub(super) kind: &'o Type,
    version: &'o GroupVersion,
    /// Looked for when they are asked for first.
    fields: Rc<OnceCell<FieldSet>>,
}

/// A value that is only looked at: one that someone else has, or one that was made on the way.
#[derive(Clone, Debug)]
pub(super) enum Held<'o> {
    Borrowed(&'o Value),
    Shared(Rc<Value>),
}

/// Why an object cannot be put into the version in which a manager owns fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It is no version.
    #[error("unexpected GroupVersion string: {api_version}")]
    Malformed {
        /// What it is.
        api_version: String,
    },
    /// The object does not fit the schema of that version.
    #[error("{doing}{errors}")]
    Misfit {
        /// What was about to be done, in the words of upstream.
        doing: String,
        /// Why it does not fit.
        errors: TypeErrors,
    },
}

// === impl Versions ===

impl Versions {
    pub(super) fn new(version: GroupVersion, kind: Type) -> Self {
        Self { own: (version, kind), others: Vec::new(), renamed: Vec::new() }
    }

    pub(super) fn add(&mut self, version: GroupVersion, kind: Type) {
        self.others.push((version, kind));
    }

    pub(super) fn rename(&mut self, version: GroupVersion, renamed: Renamed) {
        self.renamed.push((version, renamed));
    }

    fn renamed_in(&self, version: &GroupVersion) -> Renamed {
        self.renamed.iter().find(|(known, _)| known == version).map(|(_, renamed)| *renamed).unwrap_or_default()
    }

    /// The version in which objects are written.
    pub(super) fn own(&self) -> &(GroupVersion, Type) {
        &self.own
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(GroupVersion, Type)> {
        std::iter::once(&self.own).chain(&self.others)
    }

    /// An object of one version in another one; `None` if there is no such version.
    pub(super) fn convert<'o>(
        &'o self,
        object: &Typed<'o>,
        api_version: &str,
        doing: fmt::Arguments<'_>,
    ) -> Result<Option<Typed<'o>>, VersionError> {
        let version = GroupVersion::parse(api_version)
            .ok_or_else(|| VersionError::Malformed { api_version: api_version.to_owned() })?;
        if version == *object.version {
            return Ok(Some(object.clone()));
        }
        let Some((version, kind)) = self.iter().find(|(known, _)| *known == version) else {
            return Ok(None);
        };
        let mut value = Value::clone(&object.value);
        if let Value::Object(fields) = &mut value {
            fields.insert("apiVersion".to_owned(), version.to_string().into());
            self.renamed_in(object.version).to_others(fields);
            self.renamed_in(version).to_own(fields);
        }
        validate(kind, &value, Duplicates::Refused)
            .map_err(|errors| VersionError::Misfit { doing: doing.to_string(), errors })?;
        Ok(Some(Typed { value: Held::Shared(Rc::new(value)), kind, version, fields: Rc::default() }))
    }
}

// === impl Typed ===

impl<'o> Typed<'o> {
    /// An object that was found to be of the type.
    pub(super) fn new(value: &'o Value, (version, kind): &'o (GroupVersion, Type)) -> Self {
        Self { value: Held::Borrowed(value), kind, version, fields: Rc::default() }
    }

    /// Another object of the same version.
    pub(super) fn with(&self, value: Value) -> Self {
        let value = Held::Shared(Rc::new(value));
        Self { value, kind: self.kind, version: self.version, fields: Rc::default() }
    }

    /// The fields of the object, and all named ones above them.
    pub(super) fn fields(&self) -> &FieldSet {
        self.fields.get_or_init(|| with_named_fields(self.kind, to_set(self.kind, &self.value)))
    }
}

// === impl Held ===

impl Held<'_> {
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Borrowed(value) => value.clone(),
            Self::Shared(value) => Rc::unwrap_or_clone(value),
        }
    }
}

impl Deref for Held<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Borrowed(value) => value,
            Self::Shared(value) => value,
        }
    }
}
