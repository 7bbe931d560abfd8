//! What a definition of claims becomes: a CustomResourceDefinition with everything filled in, and roles to use it by.

use serde_json::{Map, Value, json};

use super::facts::PROVISIONER_LABEL;
use super::standard_fields::{spec_fields, status_fields};
use crate::resource_claim_definition::{ResourceClaimDefinition, ResourceClaimDefinitionSpec};
use crate::well_known::{DEFINITION_UID_ANNOTATION, DERIVED_LABEL};

/// What precedes the names of roles that are suggested.
const ROLE_PREFIX: &str = "claim.bailiwick.dev";

/// The CustomResourceDefinition of a definition of claims. It has no owner: if the definition could not be found for once,
/// garbage collection would take all claims with it.
pub fn custom_resource_definition(definition: &ResourceClaimDefinition) -> Value {
    let spec = &definition.spec;
    let names = &spec.names;
    let mut written = json!({ "kind": names.kind, "plural": names.plural });
    let singular = names.singular.clone().unwrap_or_else(|| names.kind.to_lowercase());
    let list_kind = names.list_kind.clone().unwrap_or_else(|| format!("{}List", names.kind));
    written["singular"] = singular.into();
    written["listKind"] = list_kind.into();
    for (field, texts) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !texts.is_empty() {
            written[field] = json!(texts);
        }
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": spec.custom_resource_definition(),
            "labels": { DERIVED_LABEL: "resourceclaimdefinitions" },
            "annotations": { DEFINITION_UID_ANNOTATION: definition.metadata.uid.clone().unwrap_or_default() },
        },
        "spec": {
            "group": spec.group,
            "names": written,
            "scope": "Namespaced",
            "versions": [{
                "name": spec.version,
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema(spec) },
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns(),
                "selectableFields": [{ "jsonPath": ".status.bindingPhase" }],
            }],
        },
    })
}

/// The schema of claims: what is written, with the types that were left out and the fields that all claims have.
fn schema(spec: &ResourceClaimDefinitionSpec) -> Value {
    let written = spec.validation.as_ref().and_then(|validation| validation.open_api_v3_schema.clone());
    let mut schema = Value::Object(written.unwrap_or_default());
    fill_types(&mut schema);
    for (part, fields) in [("spec", spec_fields()), ("status", status_fields())] {
        let into = object(object(object(&mut schema, "properties"), part), "properties");
        if let Value::Object(into) = into {
            into.extend(fields);
        }
    }
    fill_types(&mut schema);
    schema
}

/// The object in a field, which is made if there is none. What is something else is left to those who judge the schema.
fn object<'v>(value: &'v mut Value, field: &str) -> &'v mut Value {
    if value.is_null() {
        *value = json!({});
    }
    match value {
        Value::Object(fields) => {
            let inner = fields.entry(field.to_owned()).or_insert(Value::Null);
            if inner.is_null() {
                *inner = json!({});
            }
            inner
        }
        other => other,
    }
}

/// States that what has fields is an object, where that was left out.
fn fill_types(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let has_fields = fields.contains_key("properties") || fields.contains_key("additionalProperties");
    if (has_fields || fields.is_empty()) && !fields.contains_key("type") && !keeps_unknown(fields) {
        fields.insert("type".to_owned(), "object".into());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(fill_types);
    }
    for inner in ["additionalProperties", "items"] {
        if let Some(inner) = fields.get_mut(inner) {
            fill_types(inner);
        }
    }
}

/// Whether a schema leaves its type open on purpose.
fn keeps_unknown(fields: &Map<String, Value>) -> bool {
    ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"].iter().any(|word| fields.contains_key(*word))
        && !fields.contains_key("properties")
}

fn columns() -> Value {
    let column = |name: &str, path: &str, description: &str| json!({ "name": name, "type": "string", "jsonPath": path, "description": description });
    json!([
        column("Status", ".status.bindingPhase", "Whether the claim is satisfied."),
        column("Class-Kind", ".status.bindings[0].classRef.kind", "The kind of class that was chosen."),
        column("Class-Name", ".status.bindings[0].classRef.name", "The class that was chosen."),
        column("Resource-Kind", ".status.bindings[0].resourceRef.kind", "The kind of resource that satisfies the claim."),
        column("Resource-Name", ".status.bindings[0].resourceRef.name", "The resource that satisfies the claim."),
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
        {
            "name": "Ready", "type": "string", "jsonPath": ".status.ready", "priority": 1,
            "description": "How many of the resources are bound and ready.",
        },
    ])
}

/// The roles by which people who work in a namespace use the claims, and the one by which the provisioner does, as a List
/// that can be applied.
pub fn cluster_roles(spec: &ResourceClaimDefinitionSpec) -> Map<String, Value> {
    let (group, plural) = (&spec.group, &spec.names.plural);
    let rule =
        |resources: &[String], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let status = format!("{plural}/status");
    let role = |part: &str, labels: Value, rules: Value| {
        let name = format!("{ROLE_PREFIX}:{plural}.{group}:{part}");
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": { "name": name, "labels": labels },
            "rules": rules,
        })
    };
    let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let read = ["get", "list", "watch"];
    let aggregate = |to: &str| format!("rbac.authorization.k8s.io/aggregate-to-{to}");
    let list = json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            role(
                "edit",
                json!({ aggregate("admin"): "true", aggregate("edit"): "true" }),
                json!([rule(std::slice::from_ref(plural), &all), rule(std::slice::from_ref(&status), &["get"])]),
            ),
            role("view", json!({ aggregate("view"): "true" }), json!([rule(&[plural.clone(), status.clone()], &read)])),
            role("provisioner", json!({ PROVISIONER_LABEL: "true" }), json!(claim_rules(group, plural))),
        ],
    });
    match list {
        Value::Object(list) => list,
        _ => Map::new(),
    }
}

/// The role by which the provisioner handles the kinds of a definition of bindings: the claim's, and those of classes and
/// resources, each as its group and plural.
pub fn provisioner_role(
    definition: &str,
    claim: (&str, &str),
    classes: &[(&str, &str)],
    resources: &[(&str, &str)],
) -> Map<String, Value> {
    let mut rules = claim_rules(claim.0, claim.1);
    let rule = |(group, plural): &(&str, &str), verbs: &[&str]| json!({ "apiGroups": [group], "resources": [plural], "verbs": verbs });
    rules.extend(classes.iter().map(|kind| rule(kind, &super::facts::CLASS_VERBS)));
    for (group, plural) in resources {
        rules.push(rule(&(group, plural), &super::facts::RESOURCE_VERBS));
        rules.push(rule(&(group, &format!("{plural}/status")), &["patch"]));
    }
    rules.push(json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": super::facts::SECRET_VERBS }));
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": { "name": format!("{ROLE_PREFIX}:{definition}:provisioner"), "labels": { PROVISIONER_LABEL: "true" } },
        "rules": rules,
    });
    match role {
        Value::Object(role) => role,
        _ => Map::new(),
    }
}

fn claim_rules(group: &str, plural: &str) -> Vec<Value> {
    vec![
        json!({ "apiGroups": [group], "resources": [plural], "verbs": super::facts::CLAIM_VERBS }),
        json!({ "apiGroups": [group], "resources": [format!("{plural}/status")], "verbs": ["patch"] }),
    ]
}

#[cfg(test)]
mod tests;
