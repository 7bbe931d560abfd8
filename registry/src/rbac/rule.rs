//! Whether one rule allows one thing.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::list;
use crate::authorization::{Attributes, Resource, Target};

/// Everything of its sort.
const ALL: &str = "*";

/// Whether a rule allows what is asked. Who asks does not matter.
pub fn rule_allows(rule: &PolicyRule, question: &Attributes<'_>) -> bool {
    has_or_all(&rule.verbs, question.verb)
        && match question.target {
            Target::Resource(resource) => allows_resource(rule, &resource),
            Target::Path(path) => list(&rule.non_resource_urls).iter().any(|pattern| path_matches(pattern, path)),
        }
}

/// Whether a pattern covers a path: itself, or with stars at its end whatever begins like it.
pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
}

pub(super) fn has_or_all(set: &[String], wanted: &str) -> bool {
    set.iter().any(|one| one == ALL || one == wanted)
}

fn allows_resource(rule: &PolicyRule, wanted: &Resource<'_>) -> bool {
    let names = list(&rule.resource_names);
    has_or_all(list(&rule.api_groups), wanted.group)
        && list(&rule.resources).iter().any(|pattern| resource_matches(pattern, wanted))
        && (names.is_empty() || names.iter().any(|name| name == wanted.name))
}

/// `*`, the resource itself, `resource/subresource`, or `*/subresource`.
fn resource_matches(pattern: &str, wanted: &Resource<'_>) -> bool {
    if pattern == ALL {
        return true;
    }
    if wanted.subresource.is_empty() {
        return pattern == wanted.resource;
    }
    let Some(rest) = pattern.strip_suffix(wanted.subresource).and_then(|rest| rest.strip_suffix('/')) else {
        return false;
    };
    rest == ALL || rest == wanted.resource
}

#[cfg(test)]
mod tests;
