//! Whether someone may do something: the question, the answers, and who can be asked.
//!
//! The question is built once, from the request that will be executed; strategies that must know more ask the same way.

use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::SubjectRulesReviewStatus;

use crate::User;
use crate::error::Error;

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

impl dyn Authorizer {
    /// Whether someone may do something to objects, for rules that must know; that it cannot be known is an error.
    pub(crate) async fn may(&self, user: &User, verb: &str, resource: Resource<'_>) -> crate::error::Result<bool> {
        let question = Attributes { user, verb, target: Target::Resource(resource) };
        let answer = self.authorize(&question).await;
        let answer = answer.map_err(|AuthorizationError(why)| Error::Failed { what: "authorization", why })?;
        Ok(matches!(answer, Decision::Allow(_)))
    }
}

/// Who can list what someone may do.
#[async_trait]
pub trait RuleResolver: Send + Sync + 'static {
    /// The rules that apply to a user in a namespace, as far as they are known.
    async fn rules_for(&self, user: &User, namespace: &str) -> SubjectRulesReviewStatus;
}

/// Asks one after the other, until one decides.
pub struct AuthorizerChain(Vec<Box<dyn Authorizer>>);

/// Allows the members of a group everything.
pub struct AllowGroup(&'static str);

/// Allows everyone some paths that name no resource, such as those that tell of health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowPaths {
    /// Without the `/` they begin with.
    exact: Vec<String>,
    /// What paths begin with, without the `/`.
    prefixes: Vec<String>,
}

/// A path that was to be allowed to everyone, and that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only trailing * allowed in \"{0}\": end the path before it, or allow more")]
pub struct AllowPathError(String);

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

// === impl AllowPaths ===

impl AllowPaths {
    /// These paths, and with a `*` at its end whatever begins like it.
    pub fn new(paths: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, AllowPathError> {
        let mut allowed = Self::default();
        for path in paths {
            let path = path.as_ref();
            let bare = path.strip_prefix('/').unwrap_or(path);
            let (kept, list) = match bare.strip_suffix('*') {
                Some(prefix) => (prefix, &mut allowed.prefixes),
                None => (bare, &mut allowed.exact),
            };
            if kept.contains('*') {
                return Err(AllowPathError(path.to_owned()));
            }
            list.push(kept.to_owned());
        }
        Ok(allowed)
    }

    /// Whether a path is one of them.
    pub fn covers(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        self.exact.iter().any(|exact| exact == path) || self.prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

#[async_trait]
impl Authorizer for AllowPaths {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(match question.target {
            Target::Path(path) if self.covers(path) => Decision::Allow(String::new()),
            Target::Path(_) | Target::Resource(_) => Decision::NoOpinion(String::new()),
        })
    }
}

#[cfg(test)]
mod tests;
