//! What an object holds that its schema does not know.
//!
//! apiVersion, kind and metadata of the object and of embedded objects are not looked at: they are known everywhere, and
//! metadata has rules of its own.

use serde_json::Value;

use super::notes::{MAX_ERROR_BYTES, MAX_ERRORS};
use super::path::Path;
use super::{Additional, Schema};

/// Removes from an object all that its schema does not specify. Returns where it was, in order: `spec.foo`,
/// `spec.parts[0].bar`; strict decoding reports each as `unknown field "spec.foo"`.
pub fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let unknown = unknown_fields(schema, object);
    if !unknown.is_empty() {
        remove(Mode::Prune { schema: Some(schema), root: true }, object);
    }
    unknown
}

/// What [`prune`] would remove. Of very many fields, only the first are told.
pub fn unknown_fields(schema: &Schema, object: &Value) -> Vec<String> {
    let mut unknown = Unknown::default();
    find(Mode::Prune { schema: Some(schema), root: true }, object, &Path::ROOT, &mut unknown);
    unknown.paths.sort_unstable();
    unknown.paths
}

/// Whether a part of an object holds what its schema does not specify.
pub(super) fn has_unknown_fields(schema: &Schema, part: &Value) -> bool {
    let mut unknown = Unknown::default();
    find(Mode::Prune { schema: Some(schema), root: false }, part, &Path::ROOT, &mut unknown);
    !unknown.paths.is_empty()
}

/// The fields found so far, and how long their paths are.
#[derive(Default)]
struct Unknown {
    paths: Vec<String>,
    bytes: usize,
}

// === impl Unknown ===

impl Unknown {
    fn push(&mut self, path: &Path<'_>) {
        if self.paths.len() < MAX_ERRORS && self.bytes < MAX_ERROR_BYTES {
            let path = path.plain();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }
}

/// How a value is pruned.
#[derive(Clone, Copy)]
enum Mode<'s> {
    /// Fields without a schema go; without any schema, all do.
    Prune { schema: Option<&'s Schema>, root: bool },
    /// Fields without a schema stay; the others are pruned by theirs.
    Keep { schema: Option<&'s Schema>, root: bool },
}

enum Fate<'s> {
    Stays,
    Goes,
    Pruned(Mode<'s>),
}

// === impl Mode ===

impl<'s> Mode<'s> {
    fn settled(self) -> Self {
        match self {
            Self::Prune { schema: Some(schema), root } if schema.0.preserve_unknown => {
                Self::Keep { schema: Some(schema), root }
            }
            other => other,
        }
    }

    fn field(self, name: &str) -> Fate<'s> {
        let (schema, root, unknown) = match self {
            Self::Prune { schema, root } => (schema, root, Fate::Goes),
            Self::Keep { schema, root } => (schema, root, Fate::Stays),
        };
        let Some(schema) = schema else {
            return unknown;
        };
        if (root || schema.0.embedded) && matches!(name, "apiVersion" | "kind" | "metadata") {
            return Fate::Stays;
        }
        match (schema.property(name), &schema.0.additional) {
            (Some(property), _) => Fate::Pruned(Self::Prune { schema: Some(property), root: false }),
            (None, Additional::Schema(schema)) => Fate::Pruned(Self::Prune { schema: Some(schema), root: false }),
            (None, Additional::Allowed(_)) => Fate::Pruned(Self::Prune { schema: None, root: false }),
            (None, Additional::Unset) => unknown,
        }
    }

    fn items(self) -> Self {
        match self {
            Self::Prune { schema, .. } => Self::Prune { schema: schema.and_then(Schema::items), root: false },
            Self::Keep { schema, .. } => Self::Keep { schema: schema.and_then(Schema::items), root: false },
        }
    }
}

fn find(mode: Mode<'_>, value: &Value, path: &Path<'_>, unknown: &mut Unknown) {
    let mode = mode.settled();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match mode.field(name) {
                    Fate::Stays => {}
                    Fate::Goes => unknown.push(&path.key(name)),
                    Fate::Pruned(mode) => find(mode, value, &path.key(name), unknown),
                }
            }
        }
        Value::Array(items) => {
            let mode = mode.items();
            for (i, item) in items.iter().enumerate() {
                find(mode, item, &path.index(i), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn remove(mode: Mode<'_>, value: &mut Value) {
    let mode = mode.settled();
    match value {
        Value::Object(fields) => fields.retain(|name, value| match mode.field(name) {
            Fate::Stays => true,
            Fate::Goes => false,
            Fate::Pruned(mode) => {
                remove(mode, value);
                true
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| remove(mode.items(), item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
