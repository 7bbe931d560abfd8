//! Whether someone may, by the roles they have.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::SubjectRulesReviewStatus;

use super::error::{RoleError, aggregated};
use super::policy::{Policy, RoleSource};
use super::review::rules_review;
use super::rule::rule_allows;
use crate::User;
use crate::authorization::{Attributes, AuthorizationError, Authorizer, Decision, RuleResolver, Target};

/// Allows what roles allow, and has no opinion on anything else.
pub struct Rbac(Arc<dyn RoleSource>);

// === impl Rbac ===

impl Rbac {
    /// By these roles.
    pub fn new(source: Arc<dyn RoleSource>) -> Self {
        Self(source)
    }
}

#[async_trait]
impl Authorizer for Rbac {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(self.0.policy().decide(question))
    }
}

#[async_trait]
impl RuleResolver for Rbac {
    async fn rules_for(&self, user: &User, namespace: &str) -> SubjectRulesReviewStatus {
        rules_review(&self.0.policy(), user, namespace)
    }
}

// === impl Policy ===

impl Policy {
    /// Whether roles allow what is asked. The first rule that does is named.
    pub fn decide(&self, question: &Attributes<'_>) -> Decision {
        let namespace = match question.target {
            Target::Resource(resource) => resource.namespace,
            Target::Path(_) => "",
        };
        let (mut reason, mut errors) = (None, Vec::new());
        self.visit(question.user, namespace, |found| {
            match found {
                Ok((grant, rule)) if rule_allows(rule, question) => {
                    reason = Some(format!("RBAC: allowed by {grant}"));
                    return ControlFlow::Break(());
                }
                // Each is told once, and many bindings refer to the same role.
                Err(error) if !errors.contains(&error) => errors.push(error),
                Ok(_) | Err(_) => {}
            }
            ControlFlow::Continue(())
        });
        match reason {
            Some(reason) => Decision::Allow(reason),
            None if errors.is_empty() => Decision::NoOpinion(String::new()),
            None => {
                let errors = aggregated(errors.iter().map(RoleError::to_string));
                Decision::NoOpinion(format!("RBAC: {errors}"))
            }
        }
    }
}
