//! What is said of a kind about when its objects are ready and what they put out: by annotations of its definition, or by a
//! [`ReadinessRule`].

use std::collections::BTreeMap;

use bailiwick_api::bundle::{ObjectPath, PathError};
use bailiwick_api::{Bundle, ReadinessRuleSpec, is_api_version, is_kind};

/// When objects of a kind are ready. Everything that is said must be the case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeRules {
    /// A field has a value.
    pub(super) field: Option<(ObjectPath, String)>,
    /// A condition is true.
    pub(super) condition: Option<String>,
    /// Another object exists that the object owns.
    pub(super) exists: Option<Binding>,
}

/// The object that must exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) api_version: String,
    pub(super) kind: String,
    /// The field of it that names the Secret or ConfigMap that was put out.
    pub(super) output_name: Option<ObjectPath>,
    pub(super) wanted: Wanted,
}

/// When an object that stands for another must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The other is not ready before.
    Always,
    /// Something else says whether the other is ready, and nobody who takes something from it or from what it names goes before.
    WhenUsed,
}

/// What is wrong with what is said of a kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TypeError {
    #[error("the definition of the kind has the annotation {0} without {1}")]
    Alone(String, String),
    #[error("the annotation {key} of the kind's definition is no path: {source}")]
    Path { key: String, source: PathError },
    #[error("the annotations {0} and {1} of the kind's definition name no kind, such as \"Secret\" and \"v1\"")]
    Kind(String, String),
}

// === impl TypeRules ===

impl TypeRules {
    /// What the annotations of a definition say. Either spelling counts: Smith's first, or that of its later years.
    pub(super) fn of_annotations(annotations: &BTreeMap<String, String>) -> Result<Self, TypeError> {
        let find = |name: &str| {
            let keys = ["Tpr", "Cr"].map(|era| format!("{}{era}{name}", Bundle::ANNOTATION_PREFIX));
            keys.into_iter().find_map(|key| annotations.get(&key).map(|value| (key, value.clone())))
        };
        let pair = |first: &str, second: &str| match (find(first), find(second)) {
            (Some((first, a)), Some((_, b))) => Ok(Some((first, a, b))),
            (Some((key, _)), None) => Err(TypeError::Alone(key.clone(), key.replace(first, second))),
            (None, Some((key, _))) => Err(TypeError::Alone(key.clone(), key.replace(second, first))),
            (None, None) => Ok(None),
        };
        let path =
            |key: String, text: &str| text.parse::<ObjectPath>().map_err(|source| TypeError::Path { key, source });
        let field = pair("ReadyWhenFieldPath", "ReadyWhenFieldValue")?;
        let field = field.map(|(key, at, value)| Ok::<_, TypeError>((path(key, &at)?, value))).transpose()?;
        let output_name = find("OutputNameField").map(|(key, at)| path(key, &at)).transpose()?;
        let exists = pair("ReadyWhenExistsKind", "ReadyWhenExistsVersion")?;
        if let Some((key, kind, api_version)) = &exists
            && !(is_kind(kind) && is_api_version(api_version))
        {
            return Err(TypeError::Kind(key.clone(), key.replace("ReadyWhenExistsKind", "ReadyWhenExistsVersion")));
        }
        let exists =
            exists.map(|(_, kind, api_version)| Binding { api_version, kind, output_name, wanted: Wanted::Always });
        Ok(Self { field, condition: None, exists })
    }

    /// What a rule says.
    pub(super) fn of_rule(rule: &ReadinessRuleSpec) -> Self {
        // A rule whose path is none has been refused when it was written.
        let path = rule.path.as_deref().and_then(|path| path.parse().ok());
        Self { field: path.zip(rule.value.clone()), condition: rule.condition.clone(), exists: None }
    }

    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests;
