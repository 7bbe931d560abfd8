//! Selectors of a review, as a request would have them.
//!
//! What cannot be read is left out and told: the question is then about more than was meant, never about less.

use bailiwick_machinery::label::{Operator, Requirement, Selector};
use bailiwick_machinery::{FieldOperator, FieldRequirement, FieldSelector};
use k8s_openapi::api::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldSelectorRequirement, LabelSelectorRequirement};

/// The selectors of a question, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selectors {
    pub(super) field: String,
    pub(super) label: String,
    /// What was left out.
    pub(super) problems: Vec<String>,
}

/// A selector that was read, and whether some of it was not.
struct Read {
    text: String,
    is_whole: bool,
}

// === impl Selectors ===

impl Selectors {
    pub(super) fn read(field: Option<FieldSelectorAttributes>, label: Option<LabelSelectorAttributes>) -> Self {
        let field = field.map(read_field).unwrap_or_default();
        let label = label.map(read_label).unwrap_or_default();
        let problems = [("fieldSelector", &field), ("labelSelector", &label)];
        let problems = problems.into_iter().filter_map(|(name, read)| read.problem(name)).collect();
        Self { field: field.text, label: label.text, problems }
    }
}

// === impl Read ===

impl Default for Read {
    fn default() -> Self {
        Self { text: String::new(), is_whole: true }
    }
}

impl Read {
    fn problem(&self, name: &str) -> Option<String> {
        let ignored = match (self.is_whole, self.text.is_empty()) {
            (true, _) => return None,
            (false, true) => "ignored",
            (false, false) => "partially ignored",
        };
        Some(format!("spec.resourceAttributes.{name} {ignored} due to parse error"))
    }
}

fn read_field(selector: FieldSelectorAttributes) -> Read {
    let requirements = selector.requirements.unwrap_or_default();
    if !requirements.is_empty() {
        let read: Vec<_> = requirements.iter().filter_map(field_requirement).collect();
        let is_whole = read.len() == requirements.len();
        return Read { text: FieldSelector::new(read).to_string(), is_whole };
    }
    match FieldSelector::parse(&selector.raw_selector.unwrap_or_default()) {
        Ok(selector) => Read { text: selector.to_string(), is_whole: true },
        Err(_) => Read { text: String::new(), is_whole: false },
    }
}

fn field_requirement(requirement: &FieldSelectorRequirement) -> Option<FieldRequirement> {
    let operator = match requirement.operator.as_str() {
        "In" => FieldOperator::Equals,
        "NotIn" => FieldOperator::NotEquals,
        _ => return None,
    };
    match requirement.values.as_deref() {
        Some([value]) => Some(FieldRequirement { field: requirement.key.clone(), operator, value: value.clone() }),
        _ => None,
    }
}

fn read_label(selector: LabelSelectorAttributes) -> Read {
    let requirements = selector.requirements.unwrap_or_default();
    if !requirements.is_empty() {
        let read: Vec<_> = requirements.iter().filter_map(label_requirement).collect();
        let is_whole = read.len() == requirements.len();
        return Read { text: Selector::new(read).to_string(), is_whole };
    }
    match Selector::parse(&selector.raw_selector.unwrap_or_default()) {
        Ok(selector) => Read { text: selector.to_string(), is_whole: true },
        Err(_) => Read { text: String::new(), is_whole: false },
    }
}

fn label_requirement(requirement: &LabelSelectorRequirement) -> Option<Requirement> {
    let operator = match requirement.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => return None,
    };
    Requirement::new(&requirement.key, operator, requirement.values.clone().unwrap_or_default()).ok()
}
