//! Namespace: where objects live together, and go together.
//!
//! A namespace is made with a finalizer in its spec. Once it is deleted it stays until that is gone, which whoever empties
//! it takes away through `finalize`.

use async_trait::async_trait;
use bailiwick_machinery::name::qualified_name;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupResource, NameRule, Object, Scope};
use k8s_openapi::api::core::v1::Namespace;
use serde_json::{Value, json};

use super::{invalid, set, text, texts};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;
use crate::subresource::{Subresource, SubresourceAnswer, SubresourceBody, SubresourceCall, SubresourceVerb};
use crate::update::{Part, Update};

/// The label that says what a namespace is called, so that it can be selected.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The finalizer of whoever empties namespaces.
const FINALIZER: &str = "kubernetes";
const STANDARD_FINALIZERS: [&str; 3] = [FINALIZER, "orphan", "foregroundDeletion"];
/// What everything else relies on.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

const FINALIZE: &str = "finalize";
const FINALIZERS: &str = "spec.finalizers";
const PHASE: &str = "status.phase";
const ACTIVE: &str = "Active";
const TERMINATING: &str = "Terminating";

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<Namespace>(Scope::Cluster, NameRule::DnsLabel)?;
    let status = Column::new("Status", ColumnType::String, "The status of the namespace");
    let columns = || Columns::named().with(status.clone(), |object, _| text(object, PHASE).into()).with_age_as_text();
    Ok(kind
        .short_names(&["ns"])
        .with_status()
        .with_part(FINALIZE)
        .with_unconditional_update()
        .with_deleted_told()
        .without_delete_collection()
        .selectable(&[PHASE])
        .columns(columns)
        .subresource(Finalize)
        .strategy(Rules))
}

struct Rules;

// === impl Rules ===

#[async_trait]
impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        set_name_label(object);
        if text(object, PHASE).is_empty() {
            set(object, "status", "phase", ACTIVE);
        }
    }

    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        // A name that was generated was not known before.
        set_name_label(object);
        object.fields_mut().insert("status".to_owned(), json!({ "phase": ACTIVE }));
        let mut finalizers = texts(object, FINALIZERS);
        if !finalizers.contains(&FINALIZER) {
            finalizers.push(FINALIZER);
        }
        let finalizers = Value::from(finalizers);
        set(object, "spec", "finalizers", finalizers);
        Ok(())
    }

    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, old: &Object) -> Result<()> {
        match old.fields().get("spec") {
            Some(spec) => drop(object.fields_mut().insert("spec".to_owned(), spec.clone())),
            None => drop(object.fields_mut().remove("spec")),
        }
        Ok(())
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let path = FieldPath::new(FINALIZERS);
        texts(object, FINALIZERS).into_iter().for_each(|finalizer| check_finalizer(finalizer, &path, errors));
    }

    fn validate_part(&self, part: Part, object: &Object, _: &Object, errors: &mut FieldErrors) {
        if part != Part::Status {
            let path = FieldPath::new(FINALIZERS);
            let finalizers = texts(object, FINALIZERS).into_iter().enumerate();
            finalizers.for_each(|(at, finalizer)| check_finalizer(finalizer, &path.index(at), errors));
            return;
        }
        let (wanted, why) = match object.metadata().deletion_timestamp() {
            None => (ACTIVE, "may only be 'Active' if `deletionTimestamp` is empty"),
            Some(_) => (TERMINATING, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
        };
        if text(object, PHASE) != wanted {
            errors.push(FieldError::invalid(FieldPath::new("status.Phase"), text(object, PHASE), why));
        }
    }

    fn must_stay(&self, object: &Object) -> bool {
        !texts(object, FINALIZERS).is_empty()
    }

    fn mark_deleted(&self, object: &mut Object) {
        object.metadata_mut().remove("deletionGracePeriodSeconds");
        set(object, "status", "phase", TERMINATING);
    }

    async fn check_delete(&self, _: &Ctx<'_>, object: &Object) -> Result<()> {
        let name = object.metadata().name();
        if !IMMORTAL.contains(&name) {
            return Ok(());
        }
        let (resource, why) = (GroupResource::new("", "namespaces"), "this namespace may not be deleted".to_owned());
        Err(Error::Forbidden { resource, name: name.to_owned(), why, causes: Vec::new() })
    }
}

fn set_name_label(object: &mut Object) {
    let name = object.metadata().name().to_owned();
    if name.is_empty() {
        return;
    }
    let labels = object.metadata_mut().entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

fn check_finalizer(finalizer: &str, path: &FieldPath, errors: &mut FieldErrors) {
    invalid(path, finalizer, qualified_name(finalizer), errors);
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(FieldError::invalid(path.clone(), finalizer, why));
    }
}

/// `namespaces/{name}/finalize`: says which finalizers are left.
struct Finalize;

// === impl Finalize ===

#[async_trait]
impl Subresource for Finalize {
    fn name(&self) -> &'static str {
        FINALIZE
    }

    fn kind(&self) -> &'static str {
        "Namespace"
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Update]
    }

    async fn update(&self, call: SubresourceCall<'_>, body: SubresourceBody) -> Result<SubresourceAnswer> {
        let found = call.registry.find(call.group_version, "namespaces");
        let kind = found.ok_or_else(|| self.not_supported(&call, SubresourceVerb::Update))?;
        let accepted = kind.accept(body.object, &body.options)?;
        let (found, wanted) = (accepted.object().metadata().name(), call.name);
        if found != wanted {
            let why = format!("the name of the object ({found}) does not match the name on the URL ({wanted})");
            return Err(Error::BadRequest(why));
        }
        let change = |_: &Object| Ok(accepted.clone());
        let update = Update {
            part: Part::Own(FINALIZE),
            change: &change,
            tracking: &body.options.tracking,
            dry_run: body.options.dry_run,
        };
        let written = call.registry.update(call.ctx, &kind, "", call.name, update).await?;
        let object = kind.read(&written.object).map_err(|error| error.about(&kind.resource(), call.name))?;
        Ok(SubresourceAnswer { object, warnings: written.warnings })
    }
}
