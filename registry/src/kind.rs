//! What a kind is: its names, where its objects live, in which versions it is served, and its rules.
//!
//! A native kind is described by its Rust type; a kind that was defined by data has the same descriptor.

use std::borrow::Cow;
use std::sync::Arc;

use bailiwick_machinery::apply::FieldManager;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{
    FieldErrors, GroupKind, GroupResource, GroupVersion, GroupVersionKind, NameRule, Object, Scope,
};
use bailiwick_storage::{Key, KeyError, Prefix, Resource};
use bytes::Bytes;
use k8s_openapi::Resource as TypedResource;
use schemars::JsonSchema;
use serde_json::Value;

use crate::encoded::{self, Encoded, EncodedError};
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
    /// What is written on its own beside the status.
    parts: Vec<&'static str>,
    versions: Vec<Version>,
    /// For each version, which fields are stored under other names.
    renamed: Vec<Renamed>,
    strategy: Arc<dyn Strategy>,
    subresources: Vec<Arc<dyn Subresource>>,
    /// Who makes its objects, if they are not stored.
    maker: Option<Arc<dyn Virtual>>,
    keys: Resource,
    habits: Habits,
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

/// Fields of an object that are stored under other names: here, and there.
pub type Renamed = &'static [(&'static str, &'static str)];

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

/// A group and version in which a kind is served.
pub struct Version {
    /// The group and version.
    pub group_version: GroupVersion,
    /// What its objects look like.
    pub schema: Schema,
    /// What people see of many objects.
    pub columns: Columns,
    /// Fields by which objects can be selected, beside their names.
    pub selectable: Vec<SelectableField>,
}

/// A field by which objects can be selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    name: String,
    /// The first of these that is not empty.
    paths: Vec<Vec<String>>,
}

/// A kind in one of its versions: what a request is for. Cheap to clone.
#[derive(Clone)]
pub struct ServedKind {
    kind: Arc<Kind>,
    version: usize,
    gvk: GroupVersionKind,
    head: Bytes,
    /// The head of the version in which objects are stored.
    stored_head: Bytes,
    /// Who owns which fields, in this version.
    fields: Arc<FieldManager>,
    /// What Go's types say of its objects and of lists of them.
    host_type: Option<HostType>,
    list_host_type: Option<HostType>,
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
            parts: Vec::new(),
            versions: vec![stored],
            renamed: vec![&[]],
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
        self.also_served_renamed(version, &[])
    }

    /// Also served in another version or group in which some fields have other names.
    #[must_use]
    pub fn also_served_renamed(mut self, version: Version, renamed: Renamed) -> Self {
        self.versions.push(version);
        self.renamed.push(renamed);
        self
    }

    /// How it is called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Where its objects live.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// What its objects may be called.
    pub fn name_rule(&self) -> NameRule {
        self.name_rule
    }

    /// Whether its status is written on its own.
    pub fn has_status(&self) -> bool {
        self.status
    }

    /// Whether changes of its objects are counted.
    pub(crate) fn has_generation(&self) -> bool {
        self.habits.generation
    }

    /// Whether an object can be replaced by someone who does not say which state of it they have seen.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        self.habits.unconditional_update
    }

    /// Whether its objects carry secrets.
    pub fn is_secret_bearing(&self) -> bool {
        self.secret_bearing
    }

    /// Whether replacing an object that is not there makes it.
    pub fn allows_create_on_update(&self) -> bool {
        self.habits.create_on_update
    }

    /// Whether many objects can be removed at once.
    pub fn allows_delete_collection(&self) -> bool {
        self.habits.delete_collection
    }

    /// Whether who removes an object is told what it was.
    pub fn tells_deleted(&self) -> bool {
        self.habits.tells_deleted
    }

    /// Whether its objects are what Go's types make of them.
    pub(crate) fn is_typed(&self) -> bool {
        self.habits.typed
    }

    /// The versions it is served in; the first is the one it is stored in.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// What can be reached below its objects, beside the status.
    pub fn subresources(&self) -> &[Arc<dyn Subresource>] {
        &self.subresources
    }

    /// Who makes its objects, if they are not stored.
    pub fn maker(&self) -> Option<&dyn Virtual> {
        self.maker.as_deref()
    }

    /// Where its objects are stored.
    pub(crate) fn keys(&self) -> &Resource {
        &self.keys
    }

    pub(crate) fn rules(&self) -> &dyn Strategy {
        &*self.strategy
    }

    /// The kind of what is stored.
    pub fn stored_gvk(&self) -> Option<GroupVersionKind> {
        Some(self.versions.first()?.group_version.kind(self.names.kind.clone()))
    }
}

// === impl ServedKind ===

impl ServedKind {
    /// The kind in each of its versions.
    pub(crate) fn all(kind: &Arc<Kind>) -> Vec<Self> {
        let Some(stored) = kind.stored_gvk() else { return Vec::new() };
        let stored_head = encoded::head(&stored);
        let serve = |(version, served): (usize, &Version)| {
            let gvk = served.group_version.kind(kind.names.kind.clone());
            let head = encoded::head(&gvk);
            let fields = Arc::new(field_manager(kind, &gvk, served));
            let typed = |gvk: &GroupVersionKind| if kind.habits.typed { HostType::of(gvk) } else { None };
            let host_type = typed(&gvk);
            let list_host_type = typed(&served.group_version.kind(kind.names.list_kind.clone()));
            let (kind, stored_head) = (kind.clone(), stored_head.clone());
            Self { kind, version, gvk, head, stored_head, fields, host_type, list_host_type }
        };
        kind.versions.iter().enumerate().map(serve).collect()
    }

    /// The kind.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The version.
    pub fn version(&self) -> &Version {
        // `all` made this number of the versions there are, and they do not change.
        &self.kind.versions[self.version]
    }

    /// What its objects state.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.gvk
    }

    /// What a list of them states.
    pub fn list_gvk(&self) -> GroupVersionKind {
        self.version().group_version.kind(self.kind.names.list_kind.clone())
    }

    /// What Go's types say of its objects, if it is one of Kubernetes' own kinds.
    pub fn host_type(&self) -> Option<HostType> {
        self.host_type
    }

    /// What Go's types say of lists of its objects, if it is one of Kubernetes' own kinds.
    pub fn list_host_type(&self) -> Option<HostType> {
        self.list_host_type
    }

    /// Whether what is stored of its objects is what is served, but for the head.
    pub fn is_served_as_stored(&self) -> bool {
        self.renamed().is_empty()
    }

    /// The object behind the bytes, in this version.
    pub fn read(&self, encoded: &Encoded) -> Result<Object, EncodedError> {
        let mut object = encoded.to_object(&self.gvk)?;
        for (here, stored) in self.renamed() {
            rename(&mut object, stored, here);
        }
        if !self.is_served_as_stored() {
            fill(self.host_type, &mut object);
        }
        Ok(object)
    }

    /// An object of this version as it is stored.
    pub(crate) fn in_stored_form<'o>(&self, object: &'o Object) -> Cow<'o, Object> {
        if self.is_served_as_stored() {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        for (here, stored) in self.renamed() {
            rename(&mut object, here, stored);
        }
        fill(self.kind.stored_gvk().as_ref().and_then(HostType::of), &mut object);
        Cow::Owned(object)
    }

    fn renamed(&self) -> Renamed {
        self.kind.renamed.get(self.version).copied().unwrap_or_default()
    }

    /// Its group and kind.
    pub fn group_kind(&self) -> GroupKind {
        self.gvk.group_kind()
    }

    /// Its group and plural.
    pub fn resource(&self) -> GroupResource {
        GroupResource::new(self.gvk.group.clone(), self.kind.names.plural.clone())
    }

    /// What precedes an [`Encoded`](crate::Encoded) object of it: `{"apiVersion":…,"kind":…,`.
    pub fn head(&self) -> &Bytes {
        &self.head
    }

    pub(crate) fn stored_head(&self) -> &Bytes {
        &self.stored_head
    }

    /// Who owns which fields of its objects.
    pub fn fields(&self) -> &FieldManager {
        &self.fields
    }

    /// The key of an object. Only a name that no object can have has none.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Result<Key, KeyError> {
        match self.kind.scope {
            Scope::Namespaced => self.kind.keys.namespaced(namespace, name),
            Scope::Cluster => self.kind.keys.object(name),
        }
    }

    /// The objects of a namespace, or all.
    pub(crate) fn range(&self, namespace: Option<&str>) -> Result<Prefix, KeyError> {
        match namespace {
            Some(namespace) => self.kind.keys.namespace(namespace),
            None => Ok(self.kind.keys.all().clone()),
        }
    }
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.fields_mut().remove(from) {
        object.fields_mut().insert(to.to_owned(), value);
    }
}

/// Gives an object the empty fields that Go writes. What was accepted once is accepted in other versions too.
fn fill(host_type: Option<HostType>, object: &mut Object) {
    if let Some(host_type) = host_type {
        let _ = host_type.accept(object);
    }
}

/// Owners may have written in any version.
fn field_manager(kind: &Kind, gvk: &GroupVersionKind, own: &Version) -> FieldManager {
    let others = kind.versions.iter().filter(|other| other.group_version != own.group_version);
    let manager = others.fold(FieldManager::new(gvk.clone(), &own.schema), |manager, other| {
        manager.with_version(other.group_version.clone(), &other.schema)
    });
    let manager = manager.with_parts(&kind.parts);
    let manager = match (kind.status, kind.habits.typed) {
        (false, _) => manager,
        (true, false) => manager.with_status(),
        (true, true) => manager.with_status_and_metadata(),
    };
    match HostType::of(gvk).filter(|_| kind.habits.typed) {
        None => manager,
        host_type => {
            let mut empty = Object::default();
            fill(host_type, &mut empty);
            manager.with_empty(empty)
        }
    }
}

// === impl Version ===

impl Version {
    /// A version that is described by a Rust type. Its columns are the name and the age, until others are given.
    pub fn native<T: TypedResource + JsonSchema>() -> Result<Self, KindError> {
        let schema =
            Schema::from_type::<T>().map_err(|errors| KindError::Schema { kind: T::KIND.to_owned(), errors })?;
        let group_version = GroupVersion::new(T::GROUP, T::VERSION);
        Ok(Self { group_version, schema, columns: Columns::named().with_age(), selectable: Vec::new() })
    }

    /// A version of one of Kubernetes' own kinds. Its columns are the name and the age, until others are given.
    pub fn host<T: TypedResource + JsonSchema>() -> Result<Self, KindError> {
        let group_version = GroupVersion::new(T::GROUP, T::VERSION);
        let host_type = HostType::of(&group_version.kind(T::KIND));
        let host_type = host_type
            .ok_or_else(|| KindError::NotHost { kind: T::KIND.to_owned(), version: group_version.to_string() })?;
        let schema = host_type.schema::<T>();
        let schema = schema.map_err(|errors| KindError::Schema { kind: T::KIND.to_owned(), errors })?;
        Ok(Self { group_version, schema, columns: Columns::named().with_age_as_text(), selectable: Vec::new() })
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

// === impl SelectableField ===

impl SelectableField {
    /// The field at a path of names: `spec.catalogName`.
    pub fn new(path: &str) -> Self {
        Self::named(path, &[path])
    }

    /// The first field of these paths that is not empty, under another name.
    pub fn named(name: &str, paths: &[&str]) -> Self {
        let steps = |path: &&str| path.split('.').map(str::to_owned).collect();
        Self { name: name.to_owned(), paths: paths.iter().map(steps).collect() }
    }

    /// As selectors name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value in an object, as selectors compare it. An absent field is the empty text.
    pub(crate) fn value(&self, object: &Object) -> String {
        self.paths.iter().map(|path| value_at(path, object)).find(|value| !value.is_empty()).unwrap_or_default()
    }
}

fn value_at(path: &[String], object: &Object) -> String {
    let mut steps = path.iter();
    let first = steps.next().and_then(|step| object.fields().get(step));
    match steps.try_fold(first, |value, step| value.map(|value| value.get(step))).flatten() {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(_) | None => String::new(),
    }
}
