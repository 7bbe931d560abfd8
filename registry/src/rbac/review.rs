//! What someone may do in a namespace, for `SelfSubjectRulesReview`.

use k8s_openapi::api::authorization::v1::{NonResourceRule, ResourceRule, SubjectRulesReviewStatus};

use super::error::{RoleError, aggregated};
use super::list;
use super::policy::Policy;
use crate::User;

/// The rules that apply to a user in a namespace. They are complete as far as roles are concerned; what could not be found
/// is told.
pub fn rules_review(policy: &Policy, user: &User, namespace: &str) -> SubjectRulesReviewStatus {
    let (rules, errors) = policy.rules_for(user, namespace);
    let mut status = SubjectRulesReviewStatus::default();
    for rule in rules {
        if !list(&rule.resources).is_empty() {
            status.resource_rules.push(ResourceRule {
                verbs: rule.verbs.clone(),
                api_groups: rule.api_groups.clone(),
                resources: rule.resources.clone(),
                resource_names: rule.resource_names.clone(),
            });
        }
        if !list(&rule.non_resource_urls).is_empty() {
            status
                .non_resource_rules
                .push(NonResourceRule { verbs: rule.verbs.clone(), non_resource_urls: rule.non_resource_urls.clone() });
        }
    }
    if !errors.is_empty() {
        status.evaluation_error = Some(aggregated(errors.iter().map(RoleError::to_string)));
    }
    status
}
