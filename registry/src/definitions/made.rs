//! From a definition to a kind.

use std::borrow::Cow;
use std::sync::atomic::AtomicU64;

use bailiwick_machinery::crd::{self, Definition as Defined, Names as DefinedNames, Version as DefinedVersion};
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::{FieldErrors, GroupVersion, NameRule, Object, Scope, encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::kind::{Definition, Difference, Kind, KindError, Names, SelectableField, Version};

/// Why a definition is no kind. What was accepted once can be served, so this is damage, or the work of another program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotServed {
    /// It has no version in which objects are stored.
    #[error("it has no storage version")]
    NoStorage,
    /// A schema is none.
    #[error("the schema of version {version} cannot be used: {errors}")]
    Schema {
        /// The version.
        version: String,
        /// What is wrong with it.
        errors: FieldErrors,
    },
    /// Its names cannot be those of a kind.
    #[error(transparent)]
    Kind(#[from] KindError),
}

/// What would be served of a definition; another one if anything of it changes that a kind is made of.
pub(crate) fn fingerprint(object: &Object) -> String {
    let part = |path: &str| object.as_value().pointer(path).cloned().unwrap_or_default();
    let terminating = object.metadata().deletion_timestamp().is_some();
    hash(&json!([
        part("/metadata/uid"),
        part("/metadata/name"),
        part("/spec"),
        part("/status/acceptedNames"),
        terminating
    ]))
}

/// The kind that a definition defines, under the names it was granted.
pub(crate) fn kind(object: &Object, defined: &Defined) -> Result<Kind, NotServed> {
    let stored = defined.spec.storage_version().ok_or(NotServed::NoStorage)?;
    let group = &defined.spec.group;
    let scope = if defined.spec.scope == "Cluster" { Scope::Cluster } else { Scope::Namespaced };
    let stored_schema = written(stored);
    let kind =
        Kind::new(names(&defined.status.accepted_names), scope, NameRule::DnsSubdomain, version(group, stored)?)?;
    let (with_status, without): (Vec<_>, Vec<_>) =
        defined.spec.versions.iter().partition(|version| version.has_status());
    let without_status =
        without.into_iter().map(|version| GroupVersion::new(group.clone(), version.name.clone())).collect();
    let kind = if with_status.is_empty() { kind } else { kind.with_status() };
    let others = defined.spec.versions.iter().filter(|version| version.served && !version.storage);
    let kind = others.into_iter().try_fold(kind, |kind, other| {
        let same = written(other) == stored_schema;
        let difference = if same { Difference::None } else { Difference::Schema };
        version(group, other).map(|version| kind.also_served_with(version, difference))
    })?;
    Ok(kind.defined(Definition {
        name: defined.name.clone(),
        uid: object.metadata().uid().to_owned(),
        alive_at: AtomicU64::default(),
        fingerprint: fingerprint(object),
        mark: hash(&stored_schema),
        once_stored: once_stored(defined)?,
        serves_stored: stored.served,
        without_status,
        deprecations: deprecations(defined),
        is_terminating: object.metadata().deletion_timestamp().is_some(),
        retired: CancellationToken::new(),
    }))
}

fn version(group: &str, version: &DefinedVersion) -> Result<Version, NotServed> {
    let schema = schema(version)?;
    let selectable = version.selectable_fields.iter();
    Ok(Version {
        group_version: GroupVersion::new(group.to_owned(), version.name.clone()),
        schema,
        columns: crd::columns(&version.additional_printer_columns),
        selectable: selectable.map(|field| SelectableField::new(field.json_path.trim_start_matches('.'))).collect(),
    })
}

fn schema(version: &DefinedVersion) -> Result<Schema, NotServed> {
    let schema = Schema::from_json(&written(version));
    schema.map_err(|errors| NotServed::Schema { version: version.name.clone(), errors })
}

/// The versions in which objects may have been stored before, whether they are served or not.
fn once_stored(defined: &Defined) -> Result<Vec<(GroupVersion, Schema)>, NotServed> {
    let stored = &defined.status.stored_versions;
    let versions = defined.spec.versions.iter().filter(|version| !version.storage && stored.contains(&version.name));
    let with_schema = |version: &DefinedVersion| {
        Ok((GroupVersion::new(defined.spec.group.clone(), version.name.clone()), schema(version)?))
    };
    versions.map(with_schema).collect()
}

fn deprecations(defined: &Defined) -> Vec<(GroupVersion, String)> {
    let (group, kind) = (&defined.spec.group, &defined.status.accepted_names.kind);
    let deprecated = defined.spec.versions.iter().filter(|version| version.deprecated);
    let warning = |version: &DefinedVersion| {
        let usual = || format!("{group}/{} {kind} is deprecated", version.name);
        let warning = version.deprecation_warning.clone().unwrap_or_else(usual);
        (GroupVersion::new(group.clone(), version.name.clone()), warning)
    };
    deprecated.map(warning).collect()
}

/// The schema as it is written.
fn written(version: &DefinedVersion) -> Value {
    version.written_schema().cloned().map_or_else(|| json!({"type": "object"}), Value::Object)
}

fn names(accepted: &DefinedNames) -> Names {
    let owned = |names: &[String]| names.iter().cloned().map(Cow::Owned).collect();
    Names {
        kind: accepted.kind.clone().into(),
        list_kind: accepted.list_kind.clone().into(),
        plural: accepted.plural.clone().into(),
        singular: accepted.singular.clone().into(),
        short_names: owned(&accepted.short_names),
        categories: owned(&accepted.categories),
    }
}

fn hash(value: &Value) -> String {
    let digest = Sha256::digest(encode::to_json(value));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
