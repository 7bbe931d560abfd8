//! What a claim puts out, and what that is called.

use bailiwick_api::is_object_name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Contents;

/// How many digits of a hash are part of a name.
const DIGITS: usize = 16;

/// What a claim puts out.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) kind: OutputKind,
    pub(crate) mode: Mode,
    contents: Contents,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Secret,
    ConfigMap,
}

/// How it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Otherwise with each change.
    Random,
    /// By what is in it.
    ContentsHash,
    /// As the claim says.
    Fixed(String),
}

/// What is wrong with a claim.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("spec.outputKind must be Secret or ConfigMap, not \"{0}\"")]
    Kind(String),
    #[error("spec.secretNameMode must be Random, ContentsHash or Fixed, not \"{0}\"")]
    Mode(String),
    #[error("spec.secretName must be given if spec.secretNameMode is Fixed")]
    NoName,
    #[error("spec.secretName \"{0}\" is no name of an object")]
    BadName(String),
}

// === impl Output ===

impl Output {
    /// What a claim asks for.
    pub(crate) fn of(claim: &DynamicObject) -> Result<Self, OutputError> {
        let text =
            |field: &str| claim.data.pointer(&format!("/spec/{field}")).and_then(Value::as_str).map(str::to_owned);
        let kind = match text("outputKind").as_deref() {
            None | Some("Secret") => OutputKind::Secret,
            Some("ConfigMap") => OutputKind::ConfigMap,
            Some(other) => return Err(OutputError::Kind(other.to_owned())),
        };
        let mode = match (text("secretNameMode").as_deref(), text("secretName")) {
            (Some("Random"), _) => Mode::Random,
            (Some("ContentsHash") | None, None) | (Some("ContentsHash"), Some(_)) => Mode::ContentsHash,
            (Some("Fixed") | None, Some(name)) if is_object_name(&name) => Mode::Fixed(name),
            (Some("Fixed") | None, Some(name)) => return Err(OutputError::BadName(name)),
            (Some("Fixed"), None) => return Err(OutputError::NoName),
            (Some(other), _) => return Err(OutputError::Mode(other.to_owned())),
        };
        let contents = claim.data.pointer("/spec/contents").and_then(Value::as_object).into_iter().flatten();
        let contents = contents.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
        Ok(Self { kind, mode, contents: contents.collect() })
    }

    /// What stands for its contents in a name: the same for the same contents, however they were written down.
    pub(crate) fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for text in self.contents.iter().flat_map(|(key, value)| [key, value]) {
            hash.update(text.len().to_be_bytes());
            hash.update(text.as_bytes());
        }
        let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        digits.chars().take(DIGITS).collect()
    }

    /// The object, with this metadata.
    pub(crate) fn object(&self, metadata: Value) -> Value {
        let kind = self.kind.resource().kind;
        json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata, "data": self.data() })
    }

    /// Whether an object has these contents.
    pub(crate) fn is_in(&self, object: &DynamicObject) -> bool {
        object.data.get("data").cloned().unwrap_or_else(|| json!({})) == self.data()
    }

    fn data(&self) -> Value {
        match self.kind {
            OutputKind::ConfigMap => json!(self.contents),
            OutputKind::Secret => {
                self.contents.iter().map(|(key, value)| (key.clone(), Value::from(STANDARD.encode(value)))).collect()
            }
        }
    }
}

// === impl OutputKind ===

impl OutputKind {
    pub(crate) fn resource(self) -> ApiResource {
        let (kind, plural) = match self {
            Self::Secret => ("Secret", "secrets"),
            Self::ConfigMap => ("ConfigMap", "configmaps"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", kind), plural)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(spec: Value) -> Result<Output, OutputError> {
        let claim = json!({ "apiVersion": "v1", "kind": "X", "metadata": { "name": "x" }, "spec": spec });
        Output::of(&serde_json::from_value(claim).unwrap())
    }

    /// SMITH-24, SMITH-25, SMITH-29, SMITH-30, SMITH-36, D-SMITH-6: how outputs are called, also if nothing is said.
    #[test]
    fn modes() {
        let mode = |spec: Value| output(spec).map(|output| output.mode);
        assert_eq!(mode(json!({})), Ok(Mode::ContentsHash));
        assert_eq!(mode(json!({ "secretName": "s" })), Ok(Mode::Fixed("s".to_owned())));
        assert_eq!(mode(json!({ "secretNameMode": "Fixed", "secretName": "s" })), Ok(Mode::Fixed("s".to_owned())));
        assert_eq!(mode(json!({ "secretNameMode": "Fixed" })), Err(OutputError::NoName));
        assert_eq!(mode(json!({ "secretName": "a/b" })), Err(OutputError::BadName("a/b".to_owned())));
        assert_eq!(mode(json!({ "secretNameMode": "Random" })), Ok(Mode::Random));
        assert_eq!(mode(json!({ "outputKind": "Pod" })), Err(OutputError::Kind("Pod".to_owned())));
    }

    /// SMITH-28: the name changes if, and only if, the contents do.
    #[test]
    fn hashes() {
        let hash = |contents: Value| output(json!({ "contents": contents })).unwrap().hash();
        assert_eq!(hash(json!({ "a": "1", "b": "2" })), hash(json!({ "b": "2", "a": "1" })));
        let all = [json!({}), json!({ "a": "1" }), json!({ "a": "2" }), json!({ "a1": "" }), json!({ "": "a1" })];
        let hashes: std::collections::BTreeSet<String> = all.into_iter().map(hash).collect();
        assert_eq!(hashes.len(), 5);
    }
}
