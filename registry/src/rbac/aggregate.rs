//! Cluster roles that are made of others: their rules are those of all cluster roles with certain labels.

use bailiwick_machinery::label::{self, LabelSelector, LabelSelectorRequirement};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use super::list;

/// The rules that a role with an aggregation rule is to have; none if it has no such rule. They come in the order of the
/// selectors and of the roles' names, each once.
pub fn aggregate<'r>(
    role: &ClusterRole,
    all: impl IntoIterator<Item = &'r ClusterRole>,
) -> Result<Option<Vec<PolicyRule>>, label::Error> {
    let Some(aggregation) = &role.aggregation_rule else { return Ok(None) };
    let mut others: Vec<&ClusterRole> = all.into_iter().filter(|one| one.metadata.name != role.metadata.name).collect();
    others.sort_unstable_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut rules: Vec<PolicyRule> = Vec::new();
    for selector in list(&aggregation.cluster_role_selectors) {
        let selector = selector_of(selector).to_selector()?;
        for other in others.iter().filter(|other| is_selected(&selector, other)) {
            for rule in list(&other.rules) {
                if !rules.iter().any(|known| same(known, rule)) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Ok(Some(rules))
}

fn is_selected(selector: &label::Selector, role: &ClusterRole) -> bool {
    let labels = role.metadata.labels.as_ref();
    selector.matches(|key| labels?.get(key).map(String::as_str))
}

/// An absent list is as good as an empty one.
fn same(a: &PolicyRule, b: &PolicyRule) -> bool {
    a.verbs == b.verbs
        && list(&a.api_groups) == list(&b.api_groups)
        && list(&a.resources) == list(&b.resources)
        && list(&a.resource_names) == list(&b.resource_names)
        && list(&a.non_resource_urls) == list(&b.non_resource_urls)
}

/// The same selector, in the form that can match.
pub(super) fn selector_of(selector: &meta::LabelSelector) -> LabelSelector {
    let expressions = list(&selector.match_expressions).iter().map(|expression| LabelSelectorRequirement {
        key: expression.key.clone(),
        operator: expression.operator.clone(),
        values: list(&expression.values).to_vec(),
    });
    LabelSelector {
        match_labels: selector.match_labels.clone().unwrap_or_default(),
        match_expressions: expressions.collect(),
    }
}

#[cfg(test)]
mod tests;
