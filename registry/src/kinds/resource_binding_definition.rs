//! ResourceBindingDefinition: what satisfies a kind of claim. What is wrong with one by itself is found here; who may write it
//! is for [`ClaimDefinitionRules`](crate::ClaimDefinitionRules).

use async_trait::async_trait;
use bailiwick_api::claims::{RuleError, Rules};
use bailiwick_api::{ResourceBindingDefinition, Strategies};
use bailiwick_machinery::label::LabelSelector;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupVersion, NameRule, Object, Scope, crd};
use serde::Deserialize;
use serde_json::{Value, json};

use super::people;
use crate::context::Ctx;
use crate::error::Result;
use crate::kind::{Kind, KindError, Version};
use crate::strategy::Strategy;

/// How many kinds that a definition names no more can be looked after by it.
const MAX_FORMER: usize = 64;
/// What the groups of our own kinds end with.
const OWN_GROUPS: &str = ".bailiwick.dev";

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceBindingDefinition>(Scope::Cluster, NameRule::DnsSubdomain)?;
    let fields = ["spec.claim.apiVersion", "spec.claim.kind"];
    let kind = kind.short_names(&["rbd"]).with_status().with_requester();
    Ok(kind.selectable(&fields).columns(columns).strategy(Definitions))
}

/// The same kind as those know it who knew the proposal it was made for.
pub(super) fn alias() -> Result<Version, KindError> {
    let group_version = GroupVersion::new(super::ALIAS_OF_CLAIMS.0, super::ALIAS_OF_CLAIMS.1);
    Ok(Version { group_version, ..Version::native::<ResourceBindingDefinition>()? })
}

struct Definitions;

// === impl Definitions ===

#[async_trait]
impl Strategy for Definitions {
    /// What is named no more may still be held for claims: that is noted with the same write, so that whoever looks after it
    /// cannot miss it.
    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, old: &Object) -> Result<()> {
        let read = |object: &Object| ResourceBindingDefinition::deserialize(object.as_value());
        let (Ok(definition), Ok(old)) = (read(object), read(old)) else { return Ok(()) };
        if definition.spec.resources == old.spec.resources {
            return Ok(());
        }
        let former = definition.former_resources(&old);
        let status = object.fields_mut().entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            match former.is_empty() {
                true => status.remove("formerResources"),
                false => status.insert("formerResources".to_owned(), json!(former)),
            };
        }
        Ok(())
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        // What has another form has been told by the schema.
        let Ok(definition) = ResourceBindingDefinition::deserialize(object.as_value()) else { return };
        let spec = FieldPath::new("spec");
        let claim = &definition.spec.claim;
        check_kind(&claim.api_version, &claim.kind, &spec.child("claim"), errors);
        for (index, entry) in definition.spec.resources.iter().enumerate() {
            let path = spec.child("resources").index(index);
            check_kind(&entry.resource.api_version, &entry.resource.kind, &path.child("resource"), errors);
            let class = path.child("class");
            check_kind(&entry.class.api_version, &entry.class.kind, &class, errors);
            check_strategies(entry.class.strategies.as_ref(), &class.child("strategies"), errors);
        }
        if let Some(selector) = object.as_value().pointer("/spec/claimableFrom").filter(|selector| !selector.is_null())
        {
            let path = spec.child("claimableFrom");
            match LabelSelector::deserialize(selector) {
                Ok(selector) => selector.validate(&path, errors),
                Err(error) => errors.push(FieldError::invalid(path, selector.clone(), error.to_string())),
            }
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let claim = |object: &Object| object.as_value().pointer("/spec/claim").cloned().unwrap_or_default();
        if claim(object) != claim(old) {
            let path = FieldPath::new("spec").child("claim");
            let why = "field is immutable: make another definition for other claims";
            errors.push(FieldError::invalid(path, claim(object), why));
        }
        let former = object.as_value().pointer("/status/formerResources").and_then(Value::as_array);
        if former.is_some_and(|former| former.len() > MAX_FORMER) {
            let path = FieldPath::new("spec").child("resources");
            let why = format!(
                "claims have resources of {MAX_FORMER} other kinds by this definition already, and these kinds come first: make \
                 another definition"
            );
            errors.push(FieldError::forbidden(path, why));
        }
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let Ok(definition) = ResourceBindingDefinition::deserialize(object.as_value()) else { return Vec::new() };
        let unused = |(index, strategies): (usize, &Strategies)| {
            let is_idle = |rules: usize, named: bool| rules > 0 && !named;
            let provisioning = |wanted: &str| strategies.provisioning.iter().any(|strategy| json!(strategy) == wanted);
            let named = [
                ("match", is_idle(strategies.matches.len(), !strategies.selection.is_empty()), "selection"),
                ("overlay", is_idle(strategies.overlay.len(), provisioning("overlay")), "provisioning"),
                ("translate", is_idle(strategies.translate.len(), provisioning("translate")), "provisioning"),
            ];
            let idle = named.into_iter().filter(|(_, is_idle, _)| *is_idle);
            idle.map(|(name, _, list)| {
                format!(
                    "spec.resources[{index}].class.strategies.{name}: has no effect, because {list} does not name {name}"
                )
            })
            .collect::<Vec<_>>()
        };
        let entries = definition.spec.resources.iter().enumerate();
        let with_strategies = entries.filter_map(|(index, entry)| Some((index, entry.class.strategies.as_ref()?)));
        with_strategies.flat_map(unused).collect()
    }
}

/// Only what CustomResourceDefinitions define can be claimed, chosen or made: Kubernetes' own kinds and ours hand out rights,
/// run programs and hold others' secrets.
fn check_kind(api_version: &str, kind: &str, path: &FieldPath, errors: &mut FieldErrors) {
    if kind.is_empty() {
        errors.push(FieldError::required(path.child("kind"), ""));
    }
    let path = path.child("apiVersion");
    let Some((group, version)) = api_version.split_once('/').filter(|(_, version)| !version.contains('/')) else {
        errors.push(FieldError::invalid(path, api_version, "must be a group and a version: database.example.org/v1"));
        return;
    };
    if group.is_empty() || version.is_empty() || !group.contains('.') {
        errors.push(FieldError::invalid(
            path,
            api_version,
            "must be of a kind that a CustomResourceDefinition defines",
        ));
    } else if crd::is_protected_group(group) || group.ends_with(OWN_GROUPS) {
        let why = "is a group of the system, whose objects nobody claims";
        errors.push(FieldError::invalid(path, api_version, why));
    }
}

fn check_strategies(strategies: Option<&Strategies>, path: &FieldPath, errors: &mut FieldErrors) {
    for error in Rules::read(strategies).err().into_iter().flatten() {
        let RuleError { field, index, child, value, why } = error;
        let path = path.child(field);
        let path = index.map_or(path.clone(), |index| path.index(index));
        let path = child.map_or(path.clone(), |child| path.child(child));
        errors.push(FieldError::invalid(path, value, why));
    }
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let at = |pointer: &'static str| {
        move |object: &Object, _| object.as_value().pointer(pointer).cloned().unwrap_or(Value::Null)
    };
    Columns::named()
        .with(text("Claim", "The kind of claim that is satisfied."), at("/spec/claim/kind"))
        .with(text("Resources", "The kinds of resources that satisfy it."), |object, _| {
            let resources = object.as_value().pointer("/spec/resources").and_then(Value::as_array);
            let kinds = resources.into_iter().flatten().filter_map(|entry| entry.pointer("/resource/kind")?.as_str());
            json!(kinds.collect::<Vec<_>>().join(","))
        })
        .with(
            text("Accepted", "Whether its kinds are there and its writer may use them."),
            people::condition("Accepted"),
        )
        .with(text("Ready", "Whether claims are satisfied by it."), people::condition("Ready"))
        .with(text("Claims", "How many claims are satisfied by it."), at("/status/claims"))
        .with_age()
}
