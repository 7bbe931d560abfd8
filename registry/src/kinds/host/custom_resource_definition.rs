//! CustomResourceDefinition: a kind that is data. What becomes of one is told in [`crate::definitions`].

use async_trait::async_trait;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldErrors, NameRule, Object, Scope, crd};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::list;
use crate::context::Ctx;
use crate::definitions::{FINALIZER, set_condition, status};
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;
use crate::update::Part;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<CustomResourceDefinition>(Scope::Cluster, NameRule::DnsSubdomain)?;
    let created = Column::new("Created At", ColumnType::Date, super::description(&kind, "metadata.creationTimestamp"));
    let columns =
        || Columns::named().with(created.clone(), |object, _| object.metadata().creation_timestamp().to_owned().into());
    Ok(kind
        .short_names(&["crd", "crds"])
        .categories(&["api-extensions"])
        .with_status()
        .with_generation()
        .columns(columns)
        .strategy(Rules))
}

struct Rules;

// === impl Rules ===

#[async_trait]
impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        crd::set_defaults(object);
    }

    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        store_version(object);
        Ok(())
    }

    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, _: &Object) -> Result<()> {
        store_version(object);
        Ok(())
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        crd::validate(object, errors);
    }

    fn validate_change(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        crd::validate_update(object, old, errors);
    }

    fn validate_part(&self, part: Part, object: &Object, _: &Object, errors: &mut FieldErrors) {
        if part == Part::Status {
            crd::validate_status_update(object, errors);
        }
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let read = |object: &Object| crd::Definition::from_object(object).ok();
        read(object).map(|new| crd::warnings(&new, old.and_then(read).as_ref())).unwrap_or_default()
    }

    fn must_stay(&self, object: &Object) -> bool {
        // Whatever it holds, its objects go first.
        object.metadata().deletion_timestamp().is_none()
    }

    fn mark_deleted(&self, object: &mut Object) {
        object.metadata_mut().remove("deletionGracePeriodSeconds");
        object.set_generation(object.metadata().generation() - 1);
        let mut finalizers: Vec<String> = object.metadata().finalizers().map(str::to_owned).collect();
        if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            finalizers.push(FINALIZER.to_owned());
        }
        object.set_finalizers(&finalizers);
        let now = object.metadata().deletion_timestamp().unwrap_or_default().to_owned();
        set_condition(object, crd::Condition::terminating(), &now);
    }
}

/// Notes in which version objects are stored from now on.
fn store_version(object: &mut Object) {
    let stored = list(object, "spec.versions").iter().find(|version| version["storage"] == true);
    let Some(stored) = stored.map(|version| version["name"].clone()) else { return };
    let known = status(object).entry("storedVersions").or_insert(Value::Null);
    match known {
        Value::Array(known) if known.contains(&stored) => {}
        Value::Array(known) => known.push(stored),
        other => *other = json!([stored]),
    }
}
