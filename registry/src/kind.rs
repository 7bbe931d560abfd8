//! What a kind is: its names, where its objects live, in which versions it is served, and its rules.
//!
//! A native kind is described by its Rust type; a kind that was defined by data has the same descriptor.

mod told;
mod version;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{FieldErrors, GroupVersion, NameRule, Renamed, Scope};
use bailiwick_storage::{KeyError, Resource};
use k8s_openapi::Resource as TypedResource;
use schemars::JsonSchema;
use tokio_util::sync::CancellationToken;

pub use self::version::{SelectableField, Version};

use crate::strategy::{SchemaOnly, Strategy};
use crate::subresource::Subresource;
use crate::virtual_kind::Virtual;

/// A kind.
pub struct Kind {
    names: Names,
    scope: Scope,
    name_rule: NameRule,
    status: bool,
    secret_bearing: bool,
    hands_out_rights: bool,
    stamps_requester: bool,
    shown_to_viewers: bool,
    /// What is written on its own beside the status.
    parts: Vec<&'static str>,
    versions: Vec<Version>,
    /// For each version, what is stored otherwise than it is served.
    differences: Vec<Difference>,
    strategy: Arc<dyn Strategy>,
    subresources: Vec<Arc<dyn Subresource>>,
    /// Who makes its objects, if they are not stored.
    maker: Option<Arc<dyn Virtual>>,
    keys: Resource,
    habits: Habits,
    /// If it was defined by data: what can change while objects of it are there.
    definition: Option<Definition>,
}

/// What a kind is beyond its descriptor if it was defined by data, and so can change and go.
pub(crate) struct Definition {
    /// What its definition is called.
    pub(crate) name: String,
    /// Which one of that name it is.
    pub(crate) uid: String,
    /// The newest revision of it that was seen not to be on its way out, so that it is not read for each object that is made.
    pub(crate) alive_at: AtomicU64,
    /// Differs between any two that are not the same.
    pub(crate) fingerprint: String,
    /// Says which schema an object fits that was stored by it.
    pub(crate) mark: String,
    /// The other versions in which objects may have been stored, with their schemas.
    pub(crate) once_stored: Vec<(GroupVersion, Schema)>,
    /// Whether objects are served in the version in which they are stored.
    pub(crate) serves_stored: bool,
    /// The versions in which the status is not written on its own, if it is in others.
    pub(crate) without_status: Vec<GroupVersion>,
    /// What users of some versions are told.
    pub(crate) deprecations: Vec<(GroupVersion, String)>,
    /// Whether it is about to go: no objects can be made any more.
    pub(crate) is_terminating: bool,
    /// Cancelled when it is not served any more, or another takes its place.
    pub(crate) retired: CancellationToken,
}

/// How objects of a version differ from what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Not at all.
    None,
    /// Some fields are stored under other names.
    Names(Renamed),
    /// They have another schema.
    Schema,
}

/// What differs between kinds of Kubernetes' own and those that are defined by schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Habits {
    /// Whether its objects are what Go's types make of them, rather than what a schema says.
    typed: bool,
    /// Whether changes of its objects are counted.
    generation: bool,
    /// Whether an object can be replaced by someone who does not say which state of it they have seen.
    unconditional_update: bool,
    /// Whether replacing an object that is not there makes it.
    create_on_update: bool,
    /// Whether many objects can be removed at once.
    delete_collection: bool,
    /// Whether who removes an object is told what it was.
    tells_deleted: bool,
}

/// How a kind is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// One object, as `kind` states it.
    pub kind: Cow<'static, str>,
    /// Many objects, as `kind` states it.
    pub list_kind: Cow<'static, str>,
    /// Many objects, in paths.
    pub plural: Cow<'static, str>,
    /// One object, for people.
    pub singular: Cow<'static, str>,
    /// Shorter names for people.
    pub short_names: Vec<Cow<'static, str>>,
    /// Sets of kinds it belongs to, for people.
    pub categories: Vec<Cow<'static, str>>,
}

/// Why a descriptor is no kind. Native kinds are checked by a test.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// The group or the plural cannot be part of a key.
    #[error("\"{group}\" and \"{plural}\" are no names of a resource")]
    Names {
        /// The group.
        group: String,
        /// The plural.
        plural: String,
        /// Which, and why.
        source: KeyError,
    },
    /// Nothing is known of the Go type of a kind that is said to be one of Kubernetes' own.
    #[error("{kind} of {version} is none of Kubernetes' own kinds: add it to tests/oracle/internal/hostkinds")]
    NotHost {
        /// The kind.
        kind: String,
        /// The group and version.
        version: String,
    },
    /// The type has no structural schema.
    #[error("the type of {kind} has no structural schema: {errors}")]
    Schema {
        /// The kind.
        kind: String,
        /// Why.
        errors: FieldErrors,
    },
}

// === impl Kind ===

impl Kind {
    /// A kind that is described by a Rust type. Its columns are the name and the age, until others are given.
    pub fn native<T: TypedResource + JsonSchema>(scope: Scope, name_rule: NameRule) -> Result<Self, KindError> {
        Self::new(Names::of_type::<T>(), scope, name_rule, Version::native::<T>()?)
    }

    /// One of Kubernetes' own kinds, whose objects are what Go's types make of them: in JSON and in protobuf, with strategic
    /// merge patches, and without a count of changes.
    pub fn host<T: TypedResource + JsonSchema>(scope: Scope, name_rule: NameRule) -> Result<Self, KindError> {
        let version = Version::host::<T>()?;
        let mut kind = Self::new(Names::of_type::<T>(), scope, name_rule, version)?;
        kind.habits = Habits { typed: true, generation: false, ..kind.habits };
        Ok(kind)
    }

    /// A kind, with the version in which its objects are stored.
    pub fn new(names: Names, scope: Scope, name_rule: NameRule, stored: Version) -> Result<Self, KindError> {
        let group = &stored.group_version.group;
        let keys = Resource::new(group.as_bytes(), names.plural.as_bytes()).map_err(|source| KindError::Names {
            group: group.to_string(),
            plural: names.plural.to_string(),
            source,
        })?;
        Ok(Self {
            names,
            scope,
            name_rule,
            status: false,
            secret_bearing: false,
            hands_out_rights: false,
            stamps_requester: false,
            shown_to_viewers: false,
            parts: Vec::new(),
            versions: vec![stored],
            differences: vec![Difference::None],
            strategy: Arc::new(SchemaOnly),
            subresources: Vec::new(),
            maker: None,
            keys,
            habits: Habits {
                typed: false,
                generation: true,
                unconditional_update: false,
                create_on_update: false,
                delete_collection: true,
                tells_deleted: false,
            },
            definition: None,
        })
    }

    /// With shorter names.
    #[must_use]
    pub fn short_names(mut self, names: &[&'static str]) -> Self {
        self.names.short_names = names.iter().copied().map(Cow::Borrowed).collect();
        self
    }

    /// In sets of kinds.
    #[must_use]
    pub fn categories(mut self, categories: &[&'static str]) -> Self {
        self.names.categories = categories.iter().copied().map(Cow::Borrowed).collect();
        self
    }

    /// With a status that is written on its own.
    #[must_use]
    pub fn with_status(mut self) -> Self {
        self.status = true;
        self
    }

    /// With a way to write all but the status by rules of its own: [`Part::Own`](crate::Part::Own) of this name. Who serves
    /// it is a [`Subresource`].
    #[must_use]
    pub fn with_part(mut self, name: &'static str) -> Self {
        self.parts.push(name);
        self
    }

    /// With a count of changes in `metadata.generation`, which most of Kubernetes' own kinds lack.
    #[must_use]
    pub fn with_generation(mut self) -> Self {
        self.habits.generation = true;
        self
    }

    /// With replacements by whoever does not say which state of the object they have seen.
    #[must_use]
    pub fn with_unconditional_update(mut self) -> Self {
        self.habits.unconditional_update = true;
        self
    }

    /// With objects that carry secrets: whatever is written down about requests for them, their content is not.
    #[must_use]
    pub fn secret_bearing(mut self) -> Self {
        self.secret_bearing = true;
        self
    }

    /// With objects that give rights to others: they are for those who administer a namespace.
    #[must_use]
    pub fn handing_out_rights(mut self) -> Self {
        self.hands_out_rights = true;
        self
    }

    /// With `status.requester`, which says who asked for an object, and which nobody but the server writes.
    #[must_use]
    pub fn with_requester(mut self) -> Self {
        self.stamps_requester = true;
        self
    }

    /// With objects of the cluster that whoever may view is shown.
    #[must_use]
    pub fn shown_to_viewers(mut self) -> Self {
        self.shown_to_viewers = true;
        self
    }

    /// With replacements of objects that are not there, which makes them.
    #[must_use]
    pub fn with_create_on_update(mut self) -> Self {
        self.habits.create_on_update = true;
        self
    }

    /// Without a way to remove many objects at once.
    #[must_use]
    pub fn without_delete_collection(mut self) -> Self {
        self.habits.delete_collection = false;
        self
    }

    /// With the object as the answer to its removal.
    #[must_use]
    pub fn with_deleted_told(mut self) -> Self {
        self.habits.tells_deleted = true;
        self
    }

    /// With these columns in all versions there are so far.
    #[must_use]
    pub fn columns(mut self, columns: impl Fn() -> Columns) -> Self {
        for version in &mut self.versions {
            version.columns = columns();
        }
        self
    }

    /// With fields by which objects can be selected, in all versions there are so far.
    #[must_use]
    pub fn selectable(mut self, fields: &[&str]) -> Self {
        for version in &mut self.versions {
            version.selectable = fields.iter().map(|field| SelectableField::new(field)).collect();
        }
        self
    }

    /// With one more field by which objects can be selected, in all versions there are so far.
    #[must_use]
    pub fn selectable_as(mut self, field: &SelectableField) -> Self {
        for version in &mut self.versions {
            version.selectable.push(field.clone());
        }
        self
    }

    /// With rules beyond the schema.
    #[must_use]
    pub fn strategy(mut self, strategy: impl Strategy) -> Self {
        self.strategy = Arc::new(strategy);
        self
    }

    /// With one more subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Subresource) -> Self {
        self.subresources.push(Arc::new(subresource));
        self
    }

    /// With objects that are made when they are asked for, instead of stored.
    #[must_use]
    pub fn made_by(mut self, maker: impl Virtual) -> Self {
        self.maker = Some(Arc::new(maker));
        self
    }

    /// Also served in another version or group, from the same storage.
    #[must_use]
    pub fn also_served(self, version: Version) -> Self {
        self.also_served_with(version, Difference::None)
    }

    /// Also served in another version or group in which some fields have other names.
    #[must_use]
    pub fn also_served_renamed(self, version: Version, renamed: Renamed) -> Self {
        self.also_served_with(version, Difference::Names(renamed))
    }

    pub(crate) fn also_served_with(mut self, version: Version, difference: Difference) -> Self {
        self.versions.push(version);
        self.differences.push(difference);
        self
    }

    /// Defined by data.
    pub(crate) fn defined(mut self, definition: Definition) -> Self {
        self.definition = Some(definition);
        self
    }
}

// === impl Names ===

impl Names {
    fn of_type<T: TypedResource>() -> Self {
        Self {
            kind: T::KIND.into(),
            list_kind: format!("{}List", T::KIND).into(),
            plural: T::URL_PATH_SEGMENT.into(),
            singular: T::KIND.to_lowercase().into(),
            short_names: Vec::new(),
            categories: Vec::new(),
        }
    }
}
