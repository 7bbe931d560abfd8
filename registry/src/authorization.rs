//! Whether someone may do something: the question, the answers, and who can be asked.
//!
//! The question is built once, from the request that will be executed; strategies that must know more ask the same way.

use async_trait::async_trait;

use crate::User;

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who wants to.
    pub user: &'a User,
    /// What they want to do: a verb of Kubernetes, or for a path the method in lower case.
    pub verb: &'a str,
    /// What they want to do it to.
    pub target: Target<'a>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Objects, or one.
    Resource(Resource<'a>),
    /// A path that names no resource.
    Path(&'a str),
}

/// Objects, or one. What is empty is not stated: no namespace is the cluster, or all namespaces; no name is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resource<'a> {
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The version by which they are asked for. It never decides.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// What below an object, such as `status`.
    pub subresource: &'a str,
    /// The namespace.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// The field selector as it was sent, where there may be one.
    pub field_selector: &'a str,
    /// The label selector as it was sent, where there may be one.
    pub label_selector: &'a str,
}

/// An answer. The text says why, for the audit and for people who ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// They may.
    Allow(String),
    /// They may not, whatever others say.
    Deny(String),
    /// Others may know.
    NoOpinion(String),
}

/// Why there is no answer. Whoever asked must not take this for permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuthorizationError(pub String);

/// Who can be asked.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Answers.
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError>;
}

/// Asks one after the other, until one decides.
pub struct AuthorizerChain(Vec<Box<dyn Authorizer>>);

/// Allows the members of a group everything.
pub struct AllowGroup(&'static str);

// === impl Resource ===

impl Resource<'_> {
    /// The plural, and what below it: `organizations`, `organizations/groups`.
    pub fn path(&self) -> String {
        match self.subresource {
            "" => self.resource.to_owned(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

// === impl AuthorizerChain ===

impl AuthorizerChain {
    /// In this order.
    pub fn new(authorizers: Vec<Box<dyn Authorizer>>) -> Self {
        Self(authorizers)
    }
}

#[async_trait]
impl Authorizer for AuthorizerChain {
    /// The first decision counts, also behind one who failed. If nobody decides, a failure is the answer.
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let (mut reasons, mut failures) = (Vec::new(), Vec::new());
        for authorizer in &self.0 {
            match authorizer.authorize(question).await {
                Ok(Decision::NoOpinion(reason)) => reasons.push(reason),
                Ok(decided) => return Ok(decided),
                Err(failure) => failures.push(failure.0),
            }
        }
        if failures.is_empty() {
            reasons.retain(|reason| !reason.is_empty());
            Ok(Decision::NoOpinion(reasons.join("\n")))
        } else {
            Err(AuthorizationError(failures.join(", ")))
        }
    }
}

// === impl AllowGroup ===

impl AllowGroup {
    /// Those who may do everything, whatever else is configured: Kubernetes' own name for them.
    pub const MASTERS: Self = Self("system:masters");

    /// Whether a user is one of them.
    pub(crate) fn has(&self, user: &User) -> bool {
        user.groups.iter().any(|group| group == self.0)
    }
}

#[async_trait]
impl Authorizer for AllowGroup {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(if self.has(question.user) { Decision::Allow(String::new()) } else { Decision::NoOpinion(String::new()) })
    }
}
