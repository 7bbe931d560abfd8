//! Who owns the fields of the objects of a kind, kept up by every write.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::cap::cap;
use super::conflict::{ApplyError, Conflicts, TrackError};
use super::last_applied;
use super::managed::{self, Managed, Manager, Operation, Owned};
use super::ownership::{Applied, Conflicting, Ownership, Refused};
use super::set::FieldSet;
use super::types::Type;
use super::validate::{Duplicates, TypeErrors, validate};
use super::versions::{Typed, Versions};
use crate::object::Object;
use crate::schema::Schema;
use crate::{GroupVersion, GroupVersionKind, Renamed};

/// A kind in the version in which it is written. Making one walks the schema; a copy does not.
#[derive(Clone, Debug)]
pub struct FieldManager {
    gvk: GroupVersionKind,
    api_version: String,
    versions: Versions,
    /// What an object is that says nothing.
    empty: Object,
    /// Subresources through which all but the status is written.
    parts: Vec<&'static str>,
    /// What a write of the object itself does not change, by version: only in its own.
    main_reset: BTreeMap<String, FieldSet>,
    /// What a write of the status does not change, by version.
    status_reset: BTreeMap<String, FieldSet>,
}

/// Who writes, through what, and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'w> {
    /// The name of the field manager.
    pub manager: &'w str,
    /// The subresource; empty for the object itself.
    pub subresource: &'w str,
    /// Seconds since 1970.
    pub time: i64,
}

/// How to apply an object.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions<'w> {
    /// Who applies it.
    pub writer: Writer<'w>,
    /// Whether fields that others own are taken from them.
    pub force: bool,
}

/// Whoever has written an object before its owners were tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What nobody owns: it is the server's, or says which object it is.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

// === impl FieldManager ===

impl FieldManager {
    /// For a kind in the version in which it is written.
    pub fn new(gvk: GroupVersionKind, schema: &Schema) -> Self {
        let version = gvk.group_version();
        Self {
            api_version: version.to_string(),
            versions: Versions::new(version, Type::of_kind(schema)),
            gvk,
            empty: Object::default(),
            parts: Vec::new(),
            main_reset: BTreeMap::new(),
            status_reset: BTreeMap::new(),
        }
    }

    /// With one more version in which the kind is served, and in which others may own fields.
    #[must_use]
    pub fn with_version(mut self, version: GroupVersion, schema: &Schema) -> Self {
        self.versions.add(version, Type::of_kind(schema));
        if self.main_reset.is_empty() { self } else { self.with_status() }
    }

    /// With fields that have other names in one of the versions than in all others.
    #[must_use]
    pub fn with_renamed(mut self, version: GroupVersion, renamed: Renamed) -> Self {
        self.versions.rename(version, renamed);
        self
    }

    /// For a kind whose status is written on its own: a write of the object does not change the status, and one of the
    /// status changes nothing else.
    #[must_use]
    pub fn with_status(mut self) -> Self {
        self.main_reset = BTreeMap::from([(self.api_version.clone(), FieldSet::of_fields(&[&["status"]]))]);
        let resets = self.versions.iter().map(|(version, kind)| (version.to_string(), all_but_status(kind)));
        self.status_reset = resets.collect();
        self
    }

    /// The same, for a kind whose metadata is written together with the status.
    #[must_use]
    pub fn with_status_and_metadata(mut self) -> Self {
        self = self.with_status();
        let metadata = FieldSet::of_fields(&[&["metadata"]]);
        for reset in self.status_reset.values_mut() {
            *reset = std::mem::take(reset).difference(&metadata);
        }
        self
    }

    /// With subresources through which all but the status is written.
    #[must_use]
    pub fn with_parts(mut self, names: &[&'static str]) -> Self {
        self.parts = names.to_vec();
        self
    }

    /// For a kind of which an object that says nothing has fields all the same, which nobody owns.
    #[must_use]
    pub fn with_empty(mut self, empty: Object) -> Self {
        self.empty = empty;
        self
    }

    /// Says in `new` who owns its fields, after a write that was no apply made it of `live`: `None` if it was created.
    /// Both are in the version of this manager.
    ///
    /// Entries that the client has sent are taken, unless they make no sense or it writes a subresource; an empty list,
    /// or one with an empty entry, forgets all owners. After an error `new` has no entries, and can be written so.
    pub fn track_update(&self, live: Option<&Object>, new: &mut Object, writer: Writer<'_>) -> Result<(), TrackError> {
        let created = self.empty_object();
        let live = live.unwrap_or(&created);
        let mut managed = owners_at_update(live, new, writer.subresource);
        managed::clear(new);
        // What was not tracked from its creation is tracked from the first apply on.
        if managed.owners.is_empty() && !live.metadata().uid().is_empty() {
            return Ok(());
        }
        self.update(live, new, &mut managed, writer)?;
        managed.encode(new);
        Ok(())
    }

    /// What becomes of `live` when an object is applied to it: `None` if there is none yet. Both are in the version of
    /// this manager. Defaults are not filled in.
    pub fn apply(
        &self,
        live: Option<&Object>,
        applied: &Object,
        options: ApplyOptions<'_>,
    ) -> Result<Object, ApplyError> {
        let created = self.empty_object();
        let live = live.unwrap_or(&created);
        let entries = managed::entries(live).unwrap_or_default();
        let managed = Managed::decode(&entries)?;
        self.check_kind(applied)?;
        let applied_once = match self.apply_once(live, applied, managed, options) {
            Err(Failure::Conflicts(conflicts)) if options.writer.manager == last_applied::MANAGER => {
                self.apply_as_kubectl(live, applied, Managed::decode(&entries)?, options, conflicts)
            }
            other => other,
        };
        let (mut object, managed) = applied_once?;
        if options.writer.manager == last_applied::MANAGER {
            last_applied::update(&mut object, applied);
        }
        managed.encode(&mut object);
        Ok(object)
    }

    /// Once more, by force if kubectl owns all it would take by what it has applied from the client's side.
    fn apply_as_kubectl(
        &self,
        live: &Object,
        applied: &Object,
        managed: Managed,
        options: ApplyOptions<'_>,
        conflicts: Conflicting,
    ) -> Result<(Object, Managed), Failure> {
        let (_, kind) = self.versions.own();
        let Some(own) = last_applied::fields(&self.gvk, kind, live) else {
            return Err(Failure::Conflicts(conflicts));
        };
        let others = conflicts.into_iter().map(|(manager, fields)| (manager, fields.difference(&own)));
        let others: Conflicting = others.filter(|(_, fields)| !fields.is_empty()).collect();
        if !others.is_empty() {
            return Err(Failure::Conflicts(others));
        }
        self.apply_once(live, applied, managed, ApplyOptions { force: true, ..options })
    }

    fn apply_once(
        &self,
        live: &Object,
        applied: &Object,
        mut managed: Managed,
        options: ApplyOptions<'_>,
    ) -> Result<(Object, Managed), Failure> {
        let writer = options.writer;
        if managed.owners.is_empty() {
            let before = Writer { manager: BEFORE_FIRST_APPLY, ..writer };
            self.update(&self.empty_object(), live, &mut managed, before).map_err(ApplyError::from)?;
        }
        if managed::entries(applied).is_some() {
            return Err(ApplyError::ManagedFields.into());
        }
        let manager = self.manager(writer, Operation::Apply);
        let patch = self.typed(applied, Duplicates::Refused);
        let patch = patch.map_err(|errors| ApplyError::Applied { object: describe(applied), errors })?;
        let typed_live = self.typed(live, Duplicates::Allowed);
        let typed_live = typed_live.map_err(|errors| ApplyError::Live { object: describe(live), errors })?;
        let patch = Applied { object: &patch, manager: &manager, force: options.force };
        let (object, owners) = self.ownership(writer.subresource).apply(&typed_live, &patch, managed.owners)?;
        managed.owners = owners;
        strip(&mut managed, &manager);
        let object = match object.map(Object::try_from) {
            Some(Ok(object)) => {
                managed.times.insert(manager, writer.time);
                object
            }
            // Nothing has changed: it keeps its time. (What is applied has a kind, so that it cannot be nothing at all.)
            Some(Err(_)) | None => live.clone(),
        };
        Ok((object, managed))
    }

    fn update(&self, live: &Object, new: &Object, managed: &mut Managed, writer: Writer<'_>) -> Result<(), TrackError> {
        let typed_new = self.typed(new, Duplicates::Allowed);
        let typed_new = typed_new.map_err(|errors| TrackError::New { object: describe(new), errors })?;
        let typed_live = self.typed(live, Duplicates::Allowed);
        let typed_live = typed_live.map_err(|errors| TrackError::Live { object: describe(live), errors })?;
        let updated =
            self.ownership(writer.subresource).update(&typed_live, &typed_new, std::mem::take(&mut managed.owners));
        let (owners, taken) = updated.map_err(|error| TrackError::Version { object: describe(new), error })?;
        managed.owners = owners;
        let taken = taken.difference(&UNOWNED);
        if !taken.is_empty() {
            let manager = self.manager(writer, Operation::Update);
            let before = managed.owners.remove(&manager).map(|owned| owned.fields).unwrap_or_default();
            let owned = Owned { fields: taken.union(before), api_version: self.api_version.clone() };
            managed.owners.insert(manager.clone(), owned);
            managed.times.insert(manager, writer.time);
        }
        cap(managed);
        Ok(())
    }

    fn check_kind(&self, applied: &Object) -> Result<(), ApplyError> {
        if applied.gvk().as_ref() == Some(&self.gvk) {
            return Ok(());
        }
        Err(ApplyError::WrongKind { found: kind_of(applied) })
    }

    fn typed<'o>(&'o self, object: &'o Object, duplicates: Duplicates) -> Result<Typed<'o>, TypeErrors> {
        let own = self.versions.own();
        validate(&own.1, object.as_value(), duplicates)?;
        Ok(Typed::new(object.as_value(), own))
    }

    fn ownership(&self, subresource: &str) -> Ownership<'_> {
        let reset = match subresource {
            "" => Some(&self.main_reset),
            "status" => Some(&self.status_reset),
            part if self.parts.contains(&part) => Some(&self.main_reset),
            _ => None,
        };
        Ownership { versions: &self.versions, api_version: &self.api_version, reset }
    }

    fn manager(&self, writer: Writer<'_>, operation: Operation) -> Manager {
        let name = if writer.manager.is_empty() { "unknown" } else { writer.manager };
        Manager::new(name, operation, &self.api_version, writer.subresource)
    }

    fn empty_object(&self) -> Object {
        let mut object = self.empty.clone();
        object.set_gvk(&self.gvk);
        object
    }
}

/// Why an object was not applied: conflicts are looked at once more before they are told.
enum Failure {
    Conflicts(Conflicting),
    Other(ApplyError),
}

// === impl Failure ===

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        Self::Other(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Conflicts(conflicts) => Self::Conflicts(conflicts),
            Refused::Version(error) => Self::Other(error.into()),
        }
    }
}

impl From<Failure> for ApplyError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Other(error) => error,
            Failure::Conflicts(conflicts) => Self::Conflicts(Conflicts::new(&conflicts)),
        }
    }
}

/// The fields of an object that have names, but the status.
fn all_but_status(kind: &Type) -> FieldSet {
    let named = kind.atom().map.iter().flat_map(|map| map.fields.keys()).map(String::as_str);
    let paths: Vec<[&str; 1]> = named.chain(["spec"]).filter(|name| *name != "status").map(|name| [name]).collect();
    FieldSet::of_fields(&paths.iter().map(<[&str; 1]>::as_slice).collect::<Vec<_>>())
}

/// Who owns what before an update: as the client says, or else as it was.
fn owners_at_update(live: &Object, new: &Object, subresource: &str) -> Managed {
    let stored = || Managed::decode(&managed::entries(live).unwrap_or_default()).unwrap_or_default();
    if !subresource.is_empty() {
        return stored();
    }
    match managed::entries(new) {
        None => stored(),
        Some(entries) if managed::is_reset(&entries) => Managed::default(),
        Some(entries) => {
            Managed::decode(&entries).ok().filter(|managed| !managed.owners.is_empty()).unwrap_or_else(stored)
        }
    }
}

/// Takes from an owner what nobody owns.
fn strip(managed: &mut Managed, manager: &Manager) {
    if let Some(owned) = managed.owners.get_mut(manager) {
        owned.fields = std::mem::take(&mut owned.fields).difference(&UNOWNED);
        if owned.fields.is_empty() {
            managed.owners.remove(manager);
        }
    }
}

/// Namespace, name and kind of an object, as upstream's messages have them.
fn describe(object: &Object) -> String {
    let metadata = object.metadata();
    format!("{}/{}; {}", metadata.namespace(), metadata.name(), kind_of(object))
}

/// The kind of an object, as upstream's messages have it: nothing if the version is malformed.
fn kind_of(object: &Object) -> String {
    object.gvk().unwrap_or_else(|| GroupVersion::new("", "").kind("")).to_string()
}
