//! Changing an object.

use bailiwick_machinery::apply::keep_timestamps;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupKind, Object};
use bailiwick_storage::{At, Record, Txn};
use bytes::Bytes;
use serde_json::Value;

use crate::accept::{Accepted, finalizer_warnings};
use crate::admission::{Failure, OwnWrite, Proposal};
use crate::context::Ctx;
use crate::encoded::{Encoded, is_same};
use crate::error::{Error, Result};
use crate::read::{failed, not_found};
use crate::registry::Registry;
use crate::requester::{self, Extra};
use crate::served_kind::ServedKind;
use crate::turns::Turn;
use crate::write::{Current, MAX_ATTEMPTS, Retry, Tracking, Written, contended, modified, to_served, to_stored};

/// How an object is changed.
#[derive(Clone, Copy)]
pub struct Update<'u> {
    /// Which part of it.
    pub part: Part,
    /// What becomes of the object there is. Called again if the object was changed by someone else meanwhile.
    pub change: &'u Change<'u>,
    /// Whom the fields belong to that it sets.
    pub tracking: &'u Tracking,
    /// Whether nothing shall be stored.
    pub dry_run: bool,
}

/// What becomes of an object.
pub type Change<'c> = dyn Fn(&Object) -> Result<Accepted> + Send + Sync + 'c;

/// A part of an object that is written on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status, if the kind has one.
    Main,
    /// The status only.
    Status,
    /// What has a path of this name below the object: all but the status, by rules of its own.
    Own(&'static str),
}

// === impl Part ===

impl Part {
    /// As field managers and paths name it; empty for the object itself.
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Own(name) => name,
        }
    }
}

/// What to do with a changed object.
enum Plan {
    /// Nothing: it is as it was.
    Keep,
    /// Store it, with what came with who asks, if it says anew who that is.
    Store(Object, Bytes, Option<Extra>),
    /// Remove it: it was waiting for its last finalizer to go.
    Remove(Encoded),
}

// === impl Registry ===

impl Registry {
    /// Changes an object.
    pub async fn update(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
        update: Update<'_>,
    ) -> Result<Written> {
        let key = kind.key(namespace, name).map_err(|_| not_found(kind, name))?;
        let (mut current, mut turn) = self.begin(kind, &key).await?;
        for _ in 0..MAX_ATTEMPTS {
            let (plan, warnings) = match self.plan(ctx, kind, &current, update).await {
                Ok(planned) => planned,
                Err(error) => match self.newer(kind, &current).await? {
                    Some(newer) => {
                        current = newer;
                        continue;
                    }
                    None => return Err(error),
                },
            };
            if let Plan::Keep = plan {
                // That nothing is to be done must be true of the newest object too.
                if let Some(newer) = self.newer(kind, &current).await? {
                    current = newer;
                    continue;
                }
            }
            match self.carry_out(ctx, kind, &current, plan, update, &mut turn).await {
                Ok(object) => return Ok(Written { object, warnings }),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Commit(error)) => {
                    match self.after_failure("update", kind, &key, error, &mut turn).await? {
                        Retry::Again(newer) => current = *newer,
                        Retry::Gone => return Err(not_found(kind, name)),
                    }
                }
            }
        }
        Err(contended(kind, name))
    }

    /// Decides what becomes of an object.
    async fn plan(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        current: &Current,
        update: Update<'_>,
    ) -> Result<(Plan, Vec<String>)> {
        let old = &current.object;
        let (mut new, mut warnings) = (update.change)(old)?.into_parts();
        check_version(kind, &mut new, old)?;
        update.tracking.track(ctx, kind, update.part, Some(old), &mut new);
        match update.part {
            Part::Main | Part::Own(_) => keep_status(kind, &mut new, old),
            Part::Status if kind.host_type().is_some() => keep_content_but_status(&mut new, old),
            Part::Status => {
                keep_all_but_status(&mut new, old);
                requester::keep(kind, &mut new, old);
            }
        }
        keep_system_metadata(&mut new, old);
        let mut extra = None;
        if update.part == Part::Main {
            extra = self.prepare(ctx, kind, &mut new, Some(old)).await?;
            if kind.kind().has_generation() && content_differs(kind, &new, old) {
                new.set_generation(old.metadata().generation() + 1);
            }
        }
        kind.validate_update(update.part, &new, old)?;
        warnings.extend(finalizer_warnings(&new, Some(old)));
        warnings.extend(kind.kind().rules().warnings(&new, Some(old)));
        keep_timestamps(old, &mut new);
        kind.fill_status(&mut new);
        let stored = to_stored(kind, &new)?;
        if was_waiting_to_go(&new) && !kind.kind().rules().must_stay(&new) {
            let last = to_served(kind, new.metadata().name(), &stored, Some(current.cached.revision().get()))?;
            return Ok((Plan::Remove(last), warnings));
        }
        let is_kept = current.encoded(kind)?.is_stored_as(&stored) && self.is_stored_so(kind, current, &stored).await?;
        let plan = if is_kept { Plan::Keep } else { Plan::Store(new, stored, extra) };
        Ok((plan, warnings))
    }

    /// Whether an object that is served as `stored` would be is stored like that, too. If its definition has changed since, it
    /// may be stored in another version, or without fields that are added when it is read: whoever writes all objects again
    /// brings them up to date.
    async fn is_stored_so(&self, kind: &ServedKind, current: &Current, stored: &[u8]) -> Result<bool> {
        if !kind.kind().is_defined() {
            return Ok(true);
        }
        let found = self.cache().get_stored(current.cached.key()).await;
        let found = found.map_err(|error| failed("update", kind, error))?;
        // One that is not the newest any more is looked at again, whatever is said here.
        let is_current = |found: &Record| found.revision == current.cached.revision();
        Ok(found.filter(is_current).is_none_or(|found| is_same(&found.value, stored)))
    }

    async fn carry_out(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        current: &Current,
        plan: Plan,
        update: Update<'_>,
        turn: &mut Option<Turn<'_>>,
    ) -> Result<Encoded, Failure> {
        let (key, seen) = (current.cached.key(), current.cached.revision());
        let (old, Update { part, dry_run, .. }) = (Some(&current.object), update);
        let proposal = |new| Proposal { kind, part, old, new, at: At::Latest, dry_run };
        match plan {
            Plan::Keep => current.encoded(kind).map_err(Failure::Refused),
            Plan::Store(new, stored, extra) => {
                let txn = Txn::new().update(key.clone(), stored.clone(), seen);
                let own = OwnWrite { key, txn, turn, extra: extra.as_ref() };
                let committed = self.commit_admitted(ctx, proposal(Some(&new)), own).await?;
                let revision = committed.unwrap_or(seen);
                to_served(kind, key.name(), &stored, Some(revision.get())).map_err(Failure::Refused)
            }
            Plan::Remove(last) => {
                let own = OwnWrite { key, txn: Txn::new().delete(key.clone(), seen), turn, extra: None };
                self.commit_admitted(ctx, proposal(None), own).await?;
                Ok(last)
            }
        }
    }
}

/// Refuses a change of another state of the object than the client means. Who means none gets the one there is, if the
/// kind allows it.
fn check_version(kind: &ServedKind, new: &mut Object, old: &Object) -> Result<()> {
    if matches!(new.metadata().resource_version(), "" | "0") && kind.kind().allows_unconditional_update() {
        new.set_metadata_text("resourceVersion", old.metadata().resource_version());
    }
    let (new, old) = (new.metadata(), old.metadata());
    match new.resource_version() {
        "" | "0" => {
            let mut errors = FieldErrors::default();
            let field = FieldPath::new("metadata").child("resourceVersion");
            errors.push(FieldError::invalid(field, 0, "must be specified for an update"));
            // Kubernetes names the resource here, where it otherwise names the kind.
            let kind = GroupKind::new(kind.resource().group, kind.resource().resource);
            Err(Error::Invalid { kind, name: old.name().to_owned(), errors })
        }
        version if version != old.resource_version() => Err(modified(kind, old.name())),
        _ => Ok(()),
    }
}

fn keep_status(kind: &ServedKind, new: &mut Object, old: &Object) {
    if !kind.has_status() {
        return;
    }
    match old.fields().get("status") {
        Some(status) => drop(new.fields_mut().insert("status".to_owned(), status.clone())),
        None => drop(new.fields_mut().remove("status")),
    }
}

fn keep_all_but_status(new: &mut Object, old: &Object) {
    let status = new.fields_mut().remove("status");
    let owners = new.metadata().get("managedFields").cloned();
    *new = old.clone();
    keep(new, "managedFields", owners.as_ref());
    match status {
        Some(status) => drop(new.fields_mut().insert("status".to_owned(), status)),
        None => drop(new.fields_mut().remove("status")),
    }
}

/// The status of Kubernetes' own kinds is written together with the metadata.
fn keep_content_but_status(new: &mut Object, old: &Object) {
    let is_kept = |name: &str| !matches!(name, "apiVersion" | "kind" | "metadata" | "status");
    let fields = new.fields_mut();
    fields.retain(|name, _| !is_kept(name));
    fields.extend(
        old.fields().iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())),
    );
}

/// What an update cannot change, whatever the client sends.
fn keep_system_metadata(new: &mut Object, old: &Object) {
    for field in ["creationTimestamp", "generation", "selfLink"] {
        keep(new, field, old.metadata().get(field));
    }
    if new.metadata().uid().is_empty() {
        keep(new, "uid", old.metadata().get("uid"));
    }
    // Once it is set it stays; before, it cannot be set, and whoever tries is told.
    if let deletion @ Some(_) = old.metadata().get("deletionTimestamp") {
        keep(new, "deletionTimestamp", deletion);
    }
    if new.metadata().get("deletionGracePeriodSeconds").is_none() {
        keep(new, "deletionGracePeriodSeconds", old.metadata().get("deletionGracePeriodSeconds"));
    }
}

fn keep(new: &mut Object, field: &str, value: Option<&Value>) {
    match value {
        Some(value) => drop(new.metadata_mut().insert(field.to_owned(), value.clone())),
        None => drop(new.metadata_mut().remove(field)),
    }
}

/// Whether anything differs beside metadata and status.
pub(crate) fn content_differs<'o>(kind: &'o ServedKind, new: &'o Object, old: &'o Object) -> bool {
    let has_status = kind.has_status();
    let counts = move |name: &str| match name {
        "apiVersion" | "kind" | "metadata" => false,
        "status" => !has_status,
        _ => true,
    };
    let content = |object: &'o Object| object.fields().iter().filter(move |(name, _)| counts(name));
    content(new).ne(content(old))
}

/// Whether an object that is being deleted has no finalizer left.
fn was_waiting_to_go(object: &Object) -> bool {
    let metadata = object.metadata();
    metadata.deletion_timestamp().is_some() && metadata.finalizers().next().is_none()
}
