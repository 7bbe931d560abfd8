//! A kind in one of its versions, which is what requests are for: how its objects are stored, read and named there.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bailiwick_machinery::apply::FieldManager;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::{GroupKind, GroupResource, GroupVersionKind, Object, Scope, schema};
use bailiwick_storage::{Key, KeyError, Prefix};
use bytes::Bytes;

use crate::encoded::{self, Encoded, EncodedError};
use crate::kind::{Definition, Difference, Kind, Version};

/// A kind in one of its versions: what a request is for. Cheap to clone.
#[derive(Clone)]
pub struct ServedKind {
    kind: Arc<Kind>,
    version: usize,
    gvk: GroupVersionKind,
    head: Bytes,
    /// The head of the version in which objects are stored.
    stored_head: Bytes,
    /// Who owns which fields, in this version. Made when someone writes: most kinds there are hardly ever are.
    fields: Arc<OnceLock<FieldManager>>,
    /// What Go's types say of its objects and of lists of them.
    host_type: Option<HostType>,
    list_host_type: Option<HostType>,
}

// === impl ServedKind ===

impl ServedKind {
    /// The kind in each of the versions it is served in.
    pub(crate) fn all(kind: &Arc<Kind>) -> Vec<Self> {
        let Some(stored_head) = stored_head(kind) else { return Vec::new() };
        let first = kind.definition().map_or(0, |definition| usize::from(!definition.serves_stored));
        let versions = kind.versions().iter().enumerate().skip(first);
        versions.map(|(at, version)| Self::new(kind, at, version, &stored_head)).collect()
    }

    /// The kind in the version in which its objects are stored, which need not be served.
    pub(crate) fn stored(kind: &Arc<Kind>) -> Option<Self> {
        Some(Self::new(kind, 0, kind.versions().first()?, &stored_head(kind)?))
    }

    /// The kind in one of its versions, which is at this place among them.
    fn new(kind: &Arc<Kind>, version: usize, served: &Version, stored_head: &Bytes) -> Self {
        let gvk = served.group_version.kind(kind.names().kind.clone());
        let head = encoded::head(&gvk);
        let typed = |gvk: &GroupVersionKind| if kind.is_typed() { HostType::of(gvk) } else { None };
        let host_type = typed(&gvk);
        let list_host_type = typed(&served.group_version.kind(kind.names().list_kind.clone()));
        let (kind, stored_head, fields) = (kind.clone(), stored_head.clone(), Arc::default());
        Self { kind, version, gvk, head, stored_head, fields, host_type, list_host_type }
    }

    /// The kind.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The version.
    pub fn version(&self) -> &Version {
        // `all` made this number of the versions there are, and they do not change.
        &self.kind.versions()[self.version]
    }

    /// Whether the status is written on its own in this version.
    pub fn has_status(&self) -> bool {
        has_status(&self.kind, self.version())
    }

    /// What those who use this version should know, if it is on its way out.
    pub fn deprecation(&self) -> Option<&str> {
        let of_this = |(version, _): &&(_, String)| *version == self.version().group_version;
        self.kind.definition()?.deprecations.iter().find(of_this).map(|(_, warning)| warning.as_str())
    }

    /// What its objects state.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.gvk
    }

    /// What a list of them states.
    pub fn list_gvk(&self) -> GroupVersionKind {
        self.version().group_version.kind(self.kind.names().list_kind.clone())
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
        self.difference() == Difference::None
    }

    /// Whether it is the very same kind as in its own group, under a name by which others have known it.
    pub fn is_alias(&self) -> bool {
        let home = self.kind.versions().first().map(|home| &home.group_version.group);
        self.is_served_as_stored() && home != Some(&self.version().group_version.group)
    }

    /// The object behind the bytes, in this version.
    pub fn read(&self, encoded: &Encoded) -> Result<Object, EncodedError> {
        let mut object = encoded.to_object(&self.gvk)?;
        match self.difference() {
            Difference::None => {}
            Difference::Names(renamed) => {
                renamed.to_own(object.fields_mut());
                fill(self.host_type, &mut object);
            }
            Difference::Schema => object.edit_as_value(|value| drop(schema::prune(&self.version().schema, value))),
        }
        Ok(object)
    }

    /// An object of this version as it is stored.
    pub(crate) fn in_stored_form<'o>(&self, object: &'o Object) -> Cow<'o, Object> {
        let difference = self.difference();
        if difference == Difference::None {
            return Cow::Borrowed(object);
        }
        let mut changed = object.clone();
        match difference {
            Difference::None => {}
            Difference::Names(renamed) => {
                renamed.to_others(changed.fields_mut());
                fill(self.kind.stored_gvk().as_ref().and_then(HostType::of), &mut changed);
            }
            Difference::Schema => {
                if let Some(stored) = self.kind.versions().first() {
                    fit_stored(&stored.schema, &mut changed);
                }
            }
        }
        Cow::Owned(changed)
    }

    fn difference(&self) -> Difference {
        self.kind.differences().get(self.version).copied().unwrap_or(Difference::None)
    }

    /// Its group and kind.
    pub fn group_kind(&self) -> GroupKind {
        self.gvk.group_kind()
    }

    /// Its group and plural.
    pub fn resource(&self) -> GroupResource {
        GroupResource::new(self.gvk.group.clone(), self.kind.names().plural.clone())
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
        self.fields.get_or_init(|| field_manager(&self.kind, &self.gvk, self.version()))
    }

    /// The key of an object. Only a name that no object can have has none.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Result<Key, KeyError> {
        match self.kind.scope() {
            Scope::Namespaced => self.kind.keys().namespaced(namespace, name),
            Scope::Cluster => self.kind.keys().object(name),
        }
    }

    /// The objects of a namespace, or all.
    pub(crate) fn range(&self, namespace: Option<&str>) -> Result<Prefix, KeyError> {
        match namespace {
            Some(namespace) => self.kind.keys().namespace(namespace),
            None => Ok(self.kind.keys().all().clone()),
        }
    }
}

fn has_status(kind: &Kind, version: &Version) -> bool {
    let lacks_it = |definition: &Definition| definition.without_status.contains(&version.group_version);
    kind.has_status() && !kind.definition().is_some_and(lacks_it)
}

/// What precedes an object of a kind in storage. Where the schema can change it says which one the object fits, so that
/// only those are looked at that were stored by another.
pub(crate) fn stored_head(kind: &Kind) -> Option<Bytes> {
    let head = encoded::head(&kind.stored_gvk()?);
    Some(match kind.definition() {
        None => head,
        Some(definition) => [&head[..], encoded::SCHEMA, definition.mark.as_bytes(), b"\","].concat().into(),
    })
}

/// Makes an object fit the schema it is stored by: no field that is unknown, and the defaults there are now.
pub(crate) fn fit_stored(schema: &Schema, object: &mut Object) {
    object.edit_as_value(|value| {
        schema::prune(schema, value);
        schema::drop_nulls(schema, value);
        // What an embedded object's metadata lacks was told to who wrote it.
        let _ = schema::coerce_embedded(schema, value);
        schema::default(schema, value);
    });
}

/// Gives an object the empty fields that Go writes. What was accepted once is accepted in other versions too.
fn fill(host_type: Option<HostType>, object: &mut Object) {
    if let Some(host_type) = host_type {
        let _ = host_type.accept(object);
    }
}

/// Owners may have written in any version.
fn field_manager(kind: &Kind, gvk: &GroupVersionKind, own: &Version) -> FieldManager {
    let others = kind.versions().iter().filter(|other| other.group_version != own.group_version);
    let manager = others.fold(FieldManager::new(gvk.clone(), &own.schema), |manager, other| {
        manager.with_version(other.group_version.clone(), &other.schema)
    });
    let renamed = kind.versions().iter().zip(kind.differences()).filter_map(|(version, difference)| match difference {
        Difference::Names(renamed) => Some((version.group_version.clone(), *renamed)),
        Difference::None | Difference::Schema => None,
    });
    let manager = renamed.fold(manager, |manager, (version, renamed)| manager.with_renamed(version, renamed));
    let manager = manager.with_parts(kind.parts());
    let manager = match (has_status(kind, own), kind.is_typed()) {
        (false, _) => manager,
        (true, false) => manager.with_status(),
        (true, true) => manager.with_status_and_metadata(),
    };
    match HostType::of(gvk).filter(|_| kind.is_typed()) {
        None => manager,
        host_type => {
            let mut empty = Object::default();
            fill(host_type, &mut empty);
            manager.with_empty(empty)
        }
    }
}
