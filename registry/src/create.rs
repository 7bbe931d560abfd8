//! Making an object.

use bailiwick_machinery::name::generated_name;
use bailiwick_machinery::{Object, Scope};
use bailiwick_storage::{self as storage, At, Txn};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::accept::{Accepted, finalizer_warnings};
use crate::admission::{Failure, OwnWrite, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::read::failed;
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::Part;
use crate::write::{WriteOptions, Written, to_served, to_stored};

/// How many names are tried for an object that leaves its name to the server.
const MAX_NAMES: usize = 8;

// === impl Registry ===

impl Registry {
    /// Makes an object.
    pub async fn create(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        accepted: Accepted,
        options: &WriteOptions,
    ) -> Result<Written> {
        if kind.kind().is_terminating() {
            return Err(Error::KindTerminating { resource: kind.resource() });
        }
        let (mut object, mut warnings) = accepted.into_parts();
        forget_past(&mut object);
        options.tracking.track(ctx, kind, Part::Main, None, &mut object);
        warnings.extend(finalizer_warnings(&object, None));
        let generated = object.metadata().name().is_empty() && !object.metadata().generate_name().is_empty();
        let tries_before_last = if generated { MAX_NAMES - 1 } else { 0 };
        for _ in 0..tries_before_last {
            match self.create_named(ctx, kind, object.clone(), generated, options.dry_run).await {
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error),
                Ok(written) => return Ok(written.with_warnings(warnings)),
            }
        }
        match self.create_named(ctx, kind, object, generated, options.dry_run).await {
            Err(Error::AlreadyExists { resource, name, .. }) if generated => {
                Err(Error::NoUniqueName { resource, name })
            }
            Err(error) => Err(error),
            Ok(written) => Ok(written.with_warnings(warnings)),
        }
    }

    async fn create_named(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        mut object: Object,
        generate: bool,
        dry_run: bool,
    ) -> Result<Written> {
        let version_set = !matches!(object.metadata().resource_version(), "" | "0");
        begin_life(ctx, kind, &mut object);
        if generate {
            let name = random_name(object.metadata().generate_name());
            object.set_metadata_text("name", &name);
        }
        let extra = self.prepare(ctx, kind, &mut object, None).await?;
        if let Err(invalid) = kind.validate(&object) {
            let proposal =
                Proposal { kind, part: Part::Main, old: None, new: Some(&object), at: At::Latest, dry_run: false };
            return Err(self.refusal(ctx, &proposal, invalid).await);
        }
        if version_set {
            return Err(Error::ResourceVersionSet);
        }
        let (name, namespace) = (object.metadata().name().to_owned(), object.metadata().namespace().to_owned());
        let key = kind.key(&namespace, &name).map_err(|error| Error::BadRequest(error.to_string()))?;
        let warnings = kind.kind().rules().warnings(&object, None);
        kind.fill_status(&mut object);
        let stored = to_stored(kind, &object)?;
        let written = |revision| Ok(Written { object: to_served(kind, &name, &stored, revision)?, warnings });
        let proposal = Proposal { kind, part: Part::Main, old: None, new: Some(&object), at: At::Latest, dry_run };
        let txn = Txn::new().create(key.clone(), stored.clone());
        let own = OwnWrite { key: &key, txn, turn: &mut None, extra: extra.as_ref() };
        match self.commit_admitted(ctx, proposal, own).await {
            Ok(None) => {
                let found = self.cache().get_object(&key, At::Latest).await;
                match found.map_err(|error| failed("create", kind, error))? {
                    (_, Some(_)) => Err(self.already_exists(kind, &namespace, &name).await),
                    (_, None) => written(None),
                }
            }
            Ok(Some(revision)) => written(Some(revision.get())),
            Err(Failure::Commit(storage::Error::Conflict(_))) => {
                Err(self.already_exists(kind, &namespace, &name).await)
            }
            Err(Failure::Commit(error)) => Err(failed("create", kind, error)),
            Err(Failure::Refused(error)) => Err(error),
        }
    }

    async fn already_exists(&self, kind: &ServedKind, namespace: &str, name: &str) -> Error {
        let found = self.get(kind, namespace, name, At::Latest).await.ok();
        let object = found.and_then(|found| found.to_object(kind.gvk()).ok());
        let deleting = object.is_some_and(|object| object.metadata().deletion_timestamp().is_some());
        Error::AlreadyExists { resource: kind.resource(), name: name.to_owned(), deleting }
    }
}

/// Drops what a new object cannot have, before anyone owns it.
fn forget_past(object: &mut Object) {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object.metadata_mut().remove(field);
    }
}

/// What the server alone decides about a new object.
fn begin_life(ctx: &Ctx<'_>, kind: &ServedKind, object: &mut Object) {
    let metadata = object.metadata_mut();
    metadata.remove("resourceVersion");
    if kind.kind().scope() == Scope::Cluster {
        metadata.remove("namespace");
    }
    object.set_metadata_text("uid", &Uuid::new_v4().to_string());
    object.set_metadata_text("creationTimestamp", &ctx.timestamp());
    if kind.kind().has_generation() {
        object.set_generation(1);
    }
    match (kind.has_status(), kind.host_type()) {
        (false, _) => {}
        (true, None) => drop(object.fields_mut().remove("status")),
        // Go writes a status that says nothing.
        (true, Some(_)) => drop(object.fields_mut().insert("status".to_owned(), Value::Object(Map::new()))),
    }
    object.set_gvk(kind.gvk());
    // Go has no objects without a status, only empty ones.
    if let Some(host_type) = kind.host_type() {
        host_type.complete(object);
    }
}

fn random_name(base: &str) -> String {
    let mut random = Uuid::new_v4().as_u128();
    generated_name(base, |bound| {
        let bound = bound.max(1) as u128;
        let digit = random % bound;
        random /= bound;
        usize::try_from(digit).unwrap_or(0)
    })
}
