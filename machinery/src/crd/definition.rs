//! A definition as a type, and the values of what it leaves out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::Object;

/// A definition of a custom resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.annotations["api-approved.kubernetes.io"]`; empty if absent.
    pub approval: String,
    /// What is wanted.
    pub spec: DefinitionSpec,
    /// What is.
    pub status: DefinitionStatus,
}

/// What a definition wants.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionSpec {
    /// The group.
    pub group: String,
    /// The names.
    pub names: Names,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// The versions, in the order in which they are written.
    pub versions: Vec<Version>,
    /// How objects get from one version to another.
    pub conversion: Option<Conversion>,
    /// Must be false; schemas say where unknown fields are kept.
    pub preserve_unknown_fields: bool,
}

/// The names of a kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Names {
    /// As in paths.
    pub plural: String,
    /// As people say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub singular: String,
    /// What kubectl takes for it, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// The kind of an object.
    pub kind: String,
    /// The kind of a list.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub list_kind: String,
    /// What it is listed with, such as `all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// One version of a kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Version {
    /// The name, such as `v1`.
    pub name: String,
    /// Whether it can be used.
    pub served: bool,
    /// Whether objects are stored in it; exactly one version is.
    pub storage: bool,
    /// Whether its users are warned.
    pub deprecated: bool,
    /// In which words, if not the usual ones.
    pub deprecation_warning: Option<String>,
    /// What its objects may hold.
    pub schema: Option<VersionSchema>,
    /// What is written apart.
    pub subresources: Option<Subresources>,
    /// What is shown of its objects.
    pub additional_printer_columns: Vec<PrinterColumn>,
    /// What its objects can be selected by.
    pub selectable_fields: Vec<SelectablePath>,
}

/// The schema of a version, as it is written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct VersionSchema {
    /// Must be there.
    #[serde(rename = "openAPIV3Schema")]
    pub open_api_v3_schema: Option<Map<String, Value>>,
}

/// The parts of an object that are written apart.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Subresources {
    /// The status, if it is.
    pub status: Option<Map<String, Value>>,
    /// How many replicas there are, if they can be scaled.
    pub scale: Option<Scale>,
}

/// Where an object says how many replicas it has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Scale {
    /// How many are wanted.
    pub spec_replicas_path: String,
    /// How many there are.
    pub status_replicas_path: String,
    /// Which pods they are.
    pub label_selector_path: Option<String>,
}

/// A column of a table of objects.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PrinterColumn {
    /// The heading.
    pub name: String,
    /// What the values are.
    #[serde(rename = "type")]
    pub column_type: String,
    /// What they stand for.
    pub format: String,
    /// What the column is for.
    pub description: String,
    /// Above zero: shown only where there is room.
    pub priority: i32,
    /// Where the value is.
    pub json_path: String,
}

/// A field that objects can be selected by.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectablePath {
    /// Where it is.
    pub json_path: String,
}

/// How objects get from one version to another.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Conversion {
    /// `None`, which changes the apiVersion only, or `Webhook`.
    pub strategy: String,
    /// Whom to ask.
    pub webhook: Option<Map<String, Value>>,
}

/// What has become of a definition.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionStatus {
    /// What is to be known of it.
    pub conditions: Vec<Condition>,
    /// The names that it has.
    pub accepted_names: Names,
    /// The versions in which objects may be stored.
    pub stored_versions: Vec<String>,
}

/// Something that is to be known of a definition.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Since when.
    pub last_transition_time: Option<String>,
    /// Why, in a word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// An object that is no definition, because something in it has another type than it should.
#[derive(Debug, Error)]
#[error("{part} of the CustomResourceDefinition {name:?} cannot be read")]
pub struct DefinitionError {
    /// Which definition.
    pub name: String,
    /// `spec` or `status`.
    pub part: &'static str,
    /// What is wrong with it.
    #[source]
    pub source: serde_json::Error,
}

/// The annotation that says who approved of a kind in a group of Kubernetes' own.
pub const APPROVAL_ANNOTATION: &str = "api-approved.kubernetes.io";

// === impl Definition ===

impl Definition {
    /// Reads a definition. What is null is absent, as in Go.
    pub fn from_object(object: &Object) -> Result<Self, DefinitionError> {
        let metadata = object.metadata();
        let part = |part: &'static str| object.fields().get(part).map(without_nulls).unwrap_or_else(|| json!({}));
        let failed = |part: &'static str| {
            let name = metadata.name().to_owned();
            move |source| DefinitionError { name, part, source }
        };
        Ok(Self {
            name: metadata.name().to_owned(),
            approval: metadata.annotation(APPROVAL_ANNOTATION).unwrap_or_default().to_owned(),
            spec: serde_json::from_value(part("spec")).map_err(failed("spec"))?,
            status: serde_json::from_value(part("status")).map_err(failed("status"))?,
        })
    }

    /// Whether a condition is `True`.
    pub fn is(&self, condition: &str) -> bool {
        self.status.conditions.iter().any(|found| found.condition_type == condition && found.status == "True")
    }
}

// === impl DefinitionSpec ===

impl DefinitionSpec {
    /// The version in which objects are stored.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }
}

// === impl Version ===

impl Version {
    /// The schema as it is written.
    pub fn written_schema(&self) -> Option<&Map<String, Value>> {
        self.schema.as_ref()?.open_api_v3_schema.as_ref()
    }

    /// Whether the status is written apart.
    pub fn has_status(&self) -> bool {
        self.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some())
    }
}

/// Fills in what a definition leaves out: the singular, the kind of a list, the conversion and the stored version.
pub fn set_defaults(object: &mut Object) {
    let Some(spec) = object.fields_mut().get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let storage = storage_name(spec).map(str::to_owned);
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !kind.is_empty() {
            fill(names, "singular", kind.to_lowercase().into());
            fill(names, "listKind", format!("{kind}List").into());
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    default_port(spec);
    if let Some(storage) = storage {
        let status = object.fields_mut().entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            fill(status, "storedVersions", json!([storage]));
        }
    }
}

fn storage_name(spec: &Map<String, Value>) -> Option<&str> {
    let versions = spec.get("versions")?.as_array()?;
    let storage = versions.iter().find(|version| version.get("storage") == Some(&Value::Bool(true)))?;
    Some(storage.get("name").and_then(Value::as_str).unwrap_or_default())
}

/// The port of a webhook's service.
fn default_port(spec: &mut Map<String, Value>) {
    let service =
        spec.get_mut("conversion").and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"));
    if let Some(service) = service.and_then(Value::as_object_mut)
        && service.get("port").is_none_or(Value::is_null)
    {
        service.insert("port".to_owned(), 443.into());
    }
}

fn fill(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if fields.get(name).is_none_or(is_empty) {
        fields.insert(name.to_owned(), value);
    }
}

/// A copy without fields that are null; in schemas, null can be a value.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            let copy = |(name, value): (&String, &Value)| match name.as_str() {
                "openAPIV3Schema" => (name.clone(), value.clone()),
                _ => (name.clone(), without_nulls(value)),
            };
            Value::Object(kept.map(copy).collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
