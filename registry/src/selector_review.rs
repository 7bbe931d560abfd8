//! Selectors of a question, as they are sent to those who review it elsewhere.
//!
//! What cannot be read, or cannot be said there, is left out: the question is then about more than was asked for, never
//! about less.

use bailiwick_machinery::label::{self, Operator};
use bailiwick_machinery::{FieldOperator, FieldSelector};
use k8s_openapi::api::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldSelectorRequirement, LabelSelectorRequirement};

use crate::authorization::Resource;

/// The field selector, if there is one that can be told.
pub fn field_selector_attributes(resource: &Resource<'_>) -> Option<FieldSelectorAttributes> {
    let selector = FieldSelector::parse(resource.field_selector).ok()?;
    let requirements = selector.requirements().iter().map(|requirement| FieldSelectorRequirement {
        key: requirement.field.clone(),
        operator: match requirement.operator {
            FieldOperator::Equals => "In",
            FieldOperator::NotEquals => "NotIn",
        }
        .to_owned(),
        values: Some(vec![requirement.value.clone()]),
    });
    let requirements: Vec<_> = requirements.collect();
    let attributes = FieldSelectorAttributes { raw_selector: None, requirements: Some(requirements) };
    (!selector.is_empty()).then_some(attributes)
}

/// The label selector, if there is one that can be told.
pub fn label_selector_attributes(resource: &Resource<'_>) -> Option<LabelSelectorAttributes> {
    let selector = label::Selector::parse(resource.label_selector).ok()?;
    let requirements: Vec<_> = selector.requirements().iter().filter_map(label_requirement).collect();
    let is_empty = requirements.is_empty();
    let attributes = LabelSelectorAttributes { raw_selector: None, requirements: Some(requirements) };
    (!is_empty).then_some(attributes)
}

fn label_requirement(requirement: &label::Requirement) -> Option<LabelSelectorRequirement> {
    let operator = match requirement.operator() {
        Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
        Operator::NotEquals | Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        // There is no word for these.
        Operator::GreaterThan | Operator::LessThan => return None,
    };
    let values = Some(requirement.values().to_vec()).filter(|values| !values.is_empty());
    Some(LabelSelectorRequirement { key: requirement.key().to_owned(), operator: operator.to_owned(), values })
}

#[cfg(test)]
mod tests;
