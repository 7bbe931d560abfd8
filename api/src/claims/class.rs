//! What a class says of itself, beside what resources are made of.

use std::collections::BTreeMap;

use bailiwick_machinery::label::{self, LabelSelector, Selector};
use serde::Deserialize;
use serde_json::Value;

use super::shown::Shown;

/// The annotation of a class that claims get which ask for none: "true".
pub const DEFAULT_CLASS_ANNOTATION: &str = "claim.bailiwick.dev/is-default-class";
/// The annotation of a class with a label selector that one of the classes already chosen for the claim must match.
pub const AFFINITY_ANNOTATION: &str = "claim.bailiwick.dev/affinity";
/// The annotation of a class with a label selector that none of the classes already chosen for the claim may match.
pub const ANTI_AFFINITY_ANNOTATION: &str = "claim.bailiwick.dev/anti-affinity";
/// The annotation of a class with a label selector of the namespaces whose claims may use it, for kinds of classes that have
/// no field `claimableFrom`.
pub const CLAIMABLE_FROM_ANNOTATION: &str = "claim.bailiwick.dev/claimable-from";

/// A class, as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Class<'c>(pub &'c Value);

/// What becomes of a resource whose claim goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReclaimPolicy {
    /// It goes, too.
    #[default]
    Delete,
    /// It stays, and is nobody's until someone recycles it.
    Retain,
}

/// Whether a selector that an object holds allows what has these labels. None at all allows everything; what cannot be read
/// allows nothing.
pub fn allows(selector: Option<&Value>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector.filter(|selector| !selector.is_null()) else { return true };
    let read = LabelSelector::deserialize(selector).ok().and_then(|selector| selector.to_selector().ok());
    read.is_some_and(|selector| matches(&selector, labels))
}

fn matches(selector: &Selector, labels: &BTreeMap<String, String>) -> bool {
    selector.matches(|key| labels.get(key).map(String::as_str))
}

// === impl Class ===

impl<'c> Class<'c> {
    /// When it was made. Texts of this form are in the order of time.
    pub fn created(self) -> &'c str {
        self.metadata("creationTimestamp")
    }

    /// Its name.
    pub fn name(self) -> &'c str {
        self.metadata("name")
    }

    /// Its namespace; empty if it has none.
    pub fn namespace(self) -> &'c str {
        self.metadata("namespace")
    }

    /// Whether it is about to go.
    pub fn is_going(self) -> bool {
        !self.metadata("deletionTimestamp").is_empty()
    }

    /// Its labels.
    pub fn labels(self) -> BTreeMap<String, String> {
        let labels = self.0.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }

    /// Whether claims get it that ask for none.
    pub fn is_default(self) -> bool {
        self.annotation(DEFAULT_CLASS_ANNOTATION) == Some("true")
    }

    /// What becomes of resources made from it.
    pub fn reclaim_policy(self) -> ReclaimPolicy {
        ReclaimPolicy::read(self.0.get("reclaimPolicy").and_then(Value::as_str))
    }

    /// Whether claims in a namespace with these labels may use it.
    pub fn is_claimable_from(self, labels: &BTreeMap<String, String>) -> bool {
        let annotation = self.annotation(CLAIMABLE_FROM_ANNOTATION).map(label::Selector::parse);
        let by_annotation = annotation.is_none_or(|read| read.is_ok_and(|selector| matches(&selector, labels)));
        by_annotation && allows(self.0.get("claimableFrom"), labels)
    }

    /// Why it does not go with the classes that were chosen before it, whose labels these are.
    pub fn repelled_by(self, chosen: &[BTreeMap<String, String>]) -> Option<(&'static str, String)> {
        if let Some(text) = self.annotation(AFFINITY_ANNOTATION) {
            let near = |selector: Selector| chosen.iter().any(|labels| matches(&selector, labels));
            let judged = Selector::parse(text).map(near);
            let text = Shown::text(text);
            match judged {
                Ok(true) => {}
                Ok(false) => {
                    return Some(("Affinity", format!("none of the classes chosen before it has the labels {text}")));
                }
                Err(error) => {
                    let error = Shown::text(&error.to_string());
                    return Some(("Affinity", format!("its affinity \"{text}\" cannot be read: {error}")));
                }
            }
        }
        let text = self.annotation(ANTI_AFFINITY_ANNOTATION)?;
        let near = |selector: Selector| chosen.iter().any(|labels| matches(&selector, labels));
        let judged = Selector::parse(text).map(near);
        let text = Shown::text(text);
        match judged {
            Ok(false) => None,
            Ok(true) => Some(("AntiAffinity", format!("a class chosen before it has the labels {text}"))),
            Err(error) => {
                let error = Shown::text(&error.to_string());
                Some(("AntiAffinity", format!("its anti-affinity \"{text}\" cannot be read: {error}")))
            }
        }
    }

    fn metadata(self, field: &str) -> &'c str {
        self.0.get("metadata").and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default()
    }

    fn annotation(self, key: &str) -> Option<&'c str> {
        self.0.pointer("/metadata/annotations")?.get(key)?.as_str()
    }
}

// === impl ReclaimPolicy ===

impl ReclaimPolicy {
    /// What a word means. Whatever is not understood keeps.
    pub fn read(word: Option<&str>) -> Self {
        match word {
            None | Some("Delete") => Self::Delete,
            Some(_) => Self::Retain,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "Delete",
            Self::Retain => "Retain",
        }
    }
}
