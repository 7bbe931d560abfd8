//! A group and version in which a kind is served, and the fields by which its objects are selected there.

use bailiwick_machinery::host::HostType;
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{GroupVersion, Object};
use k8s_openapi::Resource as TypedResource;
use schemars::JsonSchema;
use serde_json::Value;

use super::KindError;

/// A group and version in which a kind is served.
pub struct Version {
    /// The group and version.
    pub group_version: GroupVersion,
    /// What its objects look like.
    pub schema: Schema,
    /// What people see of many objects.
    pub columns: Columns,
    /// Fields by which objects can be selected, beside their names.
    pub selectable: Vec<SelectableField>,
}

/// A field by which objects can be selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    name: String,
    /// The first of these that is not empty.
    paths: Vec<Vec<String>>,
}

// === impl Version ===

impl Version {
    /// A version that is described by a Rust type. Its columns are the name and the age, until others are given.
    pub fn native<T: TypedResource + JsonSchema>() -> Result<Self, KindError> {
        let schema =
            Schema::from_type::<T>().map_err(|errors| KindError::Schema { kind: T::KIND.to_owned(), errors })?;
        let group_version = GroupVersion::new(T::GROUP, T::VERSION);
        Ok(Self { group_version, schema, columns: Columns::named().with_age(), selectable: Vec::new() })
    }

    /// A version of one of Kubernetes' own kinds. Its columns are the name and the age, until others are given.
    pub fn host<T: TypedResource + JsonSchema>() -> Result<Self, KindError> {
        let group_version = GroupVersion::new(T::GROUP, T::VERSION);
        let host_type = HostType::of(&group_version.kind(T::KIND));
        let host_type = host_type
            .ok_or_else(|| KindError::NotHost { kind: T::KIND.to_owned(), version: group_version.to_string() })?;
        let schema = host_type.schema::<T>();
        let schema = schema.map_err(|errors| KindError::Schema { kind: T::KIND.to_owned(), errors })?;
        Ok(Self { group_version, schema, columns: Columns::named().with_age_as_text(), selectable: Vec::new() })
    }
}

// === impl SelectableField ===

impl SelectableField {
    /// The field at a path of names: `spec.catalogName`.
    pub fn new(path: &str) -> Self {
        Self::named(path, &[path])
    }

    /// The first field of these paths that is not empty, under another name.
    pub fn named(name: &str, paths: &[&str]) -> Self {
        let steps = |path: &&str| path.split('.').map(str::to_owned).collect();
        Self { name: name.to_owned(), paths: paths.iter().map(steps).collect() }
    }

    /// As selectors name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value in an object, as selectors compare it. An absent field is the empty text.
    pub(crate) fn value(&self, object: &Object) -> String {
        self.paths.iter().map(|path| value_at(path, object)).find(|value| !value.is_empty()).unwrap_or_default()
    }
}

fn value_at(path: &[String], object: &Object) -> String {
    let mut steps = path.iter();
    let first = steps.next().and_then(|step| object.fields().get(step));
    match steps.try_fold(first, |value, step| value.map(|value| value.get(step))).flatten() {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(_) | None => String::new(),
    }
}
