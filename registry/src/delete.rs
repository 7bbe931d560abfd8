//! Removing objects, at once or once their finalizers are gone.

use bailiwick_machinery::metadata::{FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use bailiwick_machinery::{GroupResource, Object};
use bailiwick_storage::{At, Key, Txn};
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::Value;

use crate::admission::{Failure, OwnWrite, Proposal};
use crate::context::Ctx;
use crate::encoded::Encoded;
use crate::error::{Error, Result};
use crate::read::{List, ListRequest, encoded, not_found};
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::turns::Turn;
use crate::update::Part;
use crate::write::{Current, MAX_ATTEMPTS, Retry, contended, to_served, to_stored};

/// How many objects of a collection are removed at once: what waits together is made durable together.
const REMOVALS_AT_ONCE: usize = 16;

/// How to remove objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// How many seconds the object may take. No kind here takes any; it is read, and told to nobody.
    pub grace_period_seconds: Option<i64>,
    /// What the object must be.
    pub preconditions: Option<Preconditions>,
    /// What happens to the objects it owns, in the deprecated way.
    pub orphan_dependents: Option<bool>,
    /// What happens to the objects it owns.
    pub propagation_policy: Option<PropagationPolicy>,
    /// Whether nothing shall be removed.
    pub dry_run: bool,
}

/// What an object must be for a deletion to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Its UID.
    pub uid: Option<String>,
    /// Its resource version.
    pub resource_version: Option<String>,
}

/// What happens to the objects that a removed object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// They stay, without an owner.
    Orphan,
    /// They are removed later.
    Background,
    /// They are removed first.
    Foreground,
}

/// What became of an object.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// It is gone.
    Gone {
        /// What its UID was.
        uid: String,
    },
    /// It is gone, and its kind wants to be told as it was.
    GoneAs(Encoded),
    /// It waits for its finalizers to go.
    Waiting(Encoded),
}

// === impl Registry ===

impl Registry {
    /// Removes an object, or marks it to be removed once its finalizers are gone.
    pub async fn delete(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted> {
        let key = kind.key(namespace, name).map_err(|_| not_found(kind, name))?;
        self.delete_at(ctx, kind, &key, None, options).await
    }

    /// Removes what is at a key, if it has this UID or none is asked for.
    async fn delete_at(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        key: &Key,
        uid: Option<&str>,
        options: &DeleteOptions,
    ) -> Result<Deleted> {
        let name = key.name();
        let (mut current, mut turn) = self.begin(kind, key).await?;
        for _ in 0..MAX_ATTEMPTS {
            let planned = match uid {
                Some(uid) if uid != current.object.metadata().uid() => Err(not_found(kind, name)),
                _ => plan(ctx, kind, &current, options).await,
            };
            let uncertain = matches!(planned, Err(_) | Ok(Plan::Keep));
            if uncertain && let Some(newer) = self.newer(kind, &current).await? {
                current = newer;
                continue;
            }
            let carried_out = match planned? {
                Plan::Keep => return Ok(Deleted::Waiting(current.encoded(kind)?)),
                Plan::Remove => self.remove(ctx, kind, &current, options, &mut turn).await,
                Plan::Mark(marked) => self.mark(ctx, kind, &current, &marked, options, &mut turn).await,
            };
            match carried_out {
                Ok(deleted) => return Ok(deleted),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Commit(error)) => match self.after_failure("delete", kind, key, error, &mut turn).await? {
                    Retry::Again(newer) => current = *newer,
                    Retry::Gone => return Err(not_found(kind, name)),
                },
            }
        }
        Err(contended(kind, name))
    }

    /// Removes an object whose time is over, whatever holds it, in the version in which it was seen. One that was written since
    /// stays.
    pub(crate) async fn expire(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        (namespace, name): (&str, &str),
        version: &str,
    ) -> Result<()> {
        let key = kind.key(namespace, name).map_err(|_| not_found(kind, name))?;
        let (mut current, mut turn) = self.begin(kind, &key).await?;
        for _ in 0..MAX_ATTEMPTS {
            if current.object.metadata().resource_version() != version {
                return Ok(());
            }
            match self.remove(ctx, kind, &current, &DeleteOptions::default(), &mut turn).await {
                Ok(_) => return Ok(()),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Commit(error)) => {
                    match self.after_failure("delete", kind, &key, error, &mut turn).await? {
                        Retry::Again(newer) => current = *newer,
                        Retry::Gone => return Ok(()),
                    }
                }
            }
        }
        Err(contended(kind, name))
    }

    async fn remove(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        current: &Current,
        options: &DeleteOptions,
        turn: &mut Option<Turn<'_>>,
    ) -> Result<Deleted, Failure> {
        let (key, seen) = (current.cached.key(), current.cached.revision());
        let (old, dry_run) = (Some(&current.object), options.dry_run);
        let proposal = Proposal { kind, part: Part::Main, old, new: None, at: At::Latest, dry_run };
        let own = OwnWrite { key, txn: Txn::new().delete(key.clone(), seen), turn, extra: None };
        let revision = self.commit_admitted(ctx, proposal, own).await?.unwrap_or(seen);
        if kind.kind().tells_deleted() {
            let last = current.encoded(kind).map_err(Failure::Refused)?;
            return Ok(Deleted::GoneAs(last.at(revision.get())));
        }
        Ok(Deleted::Gone { uid: current.object.metadata().uid().to_owned() })
    }

    /// Marks the object as one that is to go.
    async fn mark(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        current: &Current,
        marked: &Object,
        options: &DeleteOptions,
        turn: &mut Option<Turn<'_>>,
    ) -> Result<Deleted, Failure> {
        let (key, seen) = (current.cached.key(), current.cached.revision());
        let stored = to_stored(kind, marked).map_err(Failure::Refused)?;
        let (old, dry_run) = (Some(&current.object), options.dry_run);
        let proposal = Proposal { kind, part: Part::Main, old, new: Some(marked), at: At::Latest, dry_run };
        let own = OwnWrite { key, txn: Txn::new().update(key.clone(), stored.clone(), seen), turn, extra: None };
        let revision = self.commit_admitted(ctx, proposal, own).await?.unwrap_or(seen);
        let waiting = to_served(kind, key.name(), &stored, Some(revision.get()));
        waiting.map(Deleted::Waiting).map_err(Failure::Refused)
    }

    /// Removes all objects that a list would show, and returns that list. Each by itself: who watches sees them go one
    /// by one, and what goes meanwhile by other hands is no failure.
    pub async fn delete_collection(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        request: &ListRequest<'_>,
        options: &DeleteOptions,
    ) -> Result<List> {
        let list = self.list(kind, request).await?;
        self.delete_listed(ctx, kind, &list, options).await?;
        Ok(list)
    }

    /// Removes what a list showed, and nothing that has taken the place of it since.
    pub(crate) async fn delete_listed(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        list: &List,
        options: &DeleteOptions,
    ) -> Result<()> {
        let mut removals: Vec<BoxFuture<'_, Result<()>>> = Vec::with_capacity(list.objects.len());
        for listed in &list.objects {
            removals.push(Box::pin(async move {
                let object = kind.read(&encoded(kind, listed)?);
                let object = object.map_err(|error| error.about(&kind.resource(), listed.key().name()))?;
                match self.delete_at(ctx, kind, listed.key(), Some(object.metadata().uid()), options).await {
                    Ok(_) => Ok(()),
                    // It is gone already. Anything else that is missing keeps it where it is.
                    Err(Error::NotFound { resource, .. }) if resource == kind.resource() => Ok(()),
                    Err(error) => Err(error),
                }
            }));
        }
        // One that must stay does not keep the others.
        let outcomes: Vec<Result<()>> = stream::iter(removals).buffer_unordered(REMOVALS_AT_ONCE).collect().await;
        outcomes.into_iter().collect()
    }
}

/// What to do with an object that is to go.
enum Plan {
    /// Nothing: it is marked already.
    Keep,
    /// Mark it.
    Mark(Object),
    /// Remove it.
    Remove,
}

async fn plan(ctx: &Ctx<'_>, kind: &ServedKind, current: &Current, options: &DeleteOptions) -> Result<Plan> {
    let object = &current.object;
    check_preconditions(kind, object, options)?;
    kind.kind().rules().check_delete(ctx, object).await?;
    let finalizers = finalizers_for(object, options);
    if finalizers.is_empty() && !kind.kind().rules().must_stay(object) {
        return Ok(Plan::Remove);
    }
    let mut marked = object.clone();
    marked.set_finalizers(&finalizers);
    if object.metadata().deletion_timestamp().is_none() {
        marked.set_metadata_text("deletionTimestamp", &ctx.timestamp());
        marked.metadata_mut().insert("deletionGracePeriodSeconds".to_owned(), Value::from(0));
        if object.metadata().generation() > 0 {
            marked.set_generation(object.metadata().generation() + 1);
        }
        kind.kind().rules().mark_deleted(&mut marked);
    }
    Ok(if marked == *object { Plan::Keep } else { Plan::Mark(marked) })
}

fn check_preconditions(kind: &ServedKind, object: &Object, options: &DeleteOptions) -> Result<()> {
    let Some(preconditions) = &options.preconditions else { return Ok(()) };
    let metadata = object.metadata();
    // Kubernetes names the kind here, where it otherwise names the resource.
    let resource = || GroupResource::new(kind.gvk().group.clone(), kind.gvk().kind.clone());
    let conflict = |why: String| Error::Conflict { resource: resource(), name: metadata.name().to_owned(), why };
    if let Some(uid) = preconditions.uid.as_deref().filter(|uid| *uid != metadata.uid()) {
        return Err(conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            metadata.uid()
        )));
    }
    let wanted = preconditions.resource_version.as_deref();
    if let Some(version) = wanted.filter(|version| *version != metadata.resource_version()) {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            metadata.resource_version()
        )));
    }
    Ok(())
}

/// The finalizers that the object keeps or gets: those of the garbage collector follow from the options, and where these
/// say nothing, from what the object has already.
fn finalizers_for(object: &Object, options: &DeleteOptions) -> Vec<String> {
    let has = |finalizer: &str| object.metadata().finalizers().any(|found| found == finalizer);
    let (orphan, foreground) = match (options.orphan_dependents, options.propagation_policy) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(policy)) => (policy == PropagationPolicy::Orphan, policy == PropagationPolicy::Foreground),
        (None, None) if has(FINALIZER_ORPHAN) => (true, false),
        (None, None) => (false, has(FINALIZER_FOREGROUND)),
    };
    let collectors = |finalizer: &&str| matches!(*finalizer, FINALIZER_ORPHAN | FINALIZER_FOREGROUND);
    let others = object.metadata().finalizers().filter(|finalizer| !collectors(finalizer));
    let mut finalizers: Vec<String> = others.map(str::to_owned).collect();
    if orphan {
        finalizers.push(FINALIZER_ORPHAN.to_owned());
    }
    if foreground {
        finalizers.push(FINALIZER_FOREGROUND.to_owned());
    }
    finalizers
}
