//! The audit policy: which requests are written down, and how much of them. The rules and words are those of
//! `audit.k8s.io/v1`, and the first rule that matches decides.

mod read;

use bailiwick_registry::User;
use serde::{Deserialize, Serialize};

pub use self::read::PolicyError;
use crate::request_info::RequestInfo;

/// How much is written down of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Level {
    /// Nothing.
    #[default]
    None,
    /// Who, what, when and with which outcome.
    Metadata,
    /// That, and what was sent.
    Request,
    /// That, and what was answered.
    RequestResponse,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// It was read, and nothing else.
    RequestReceived,
    /// The head of an answer that goes on was sent.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// Answering it failed in a way nobody foresaw.
    Panic,
}

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stages(u8);

/// A policy that was found good.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    omit_stages: Stages,
    omit_managed_fields: bool,
}

/// What a policy says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) level: Level,
    pub(crate) omit_stages: Stages,
    pub(crate) omit_managed_fields: bool,
}

#[derive(Debug)]
struct Rule {
    level: Level,
    users: Vec<String>,
    user_groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResources>,
    namespaces: Vec<String>,
    non_resource_urls: Vec<String>,
    omit_stages: Stages,
    omit_managed_fields: Option<bool>,
}

/// Resources of a group; all of them, if none is named.
#[derive(Debug)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

// === impl Level ===

impl Level {
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Metadata, Self::Request, Self::RequestResponse];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

// === impl Stage ===

impl Stage {
    pub(crate) const ALL: [Self; 4] =
        [Self::RequestReceived, Self::ResponseStarted, Self::ResponseComplete, Self::Panic];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }
}

// === impl Stages ===

impl Stages {
    pub(crate) fn has(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u8) != 0
    }

    fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        Self(stages.into_iter().fold(0, |set, stage| set | 1 << stage as u8))
    }
}

// === impl Policy ===

impl Policy {
    /// What to write down of a request of this user; of nobody known, if there is none.
    pub(crate) fn judge(&self, user: Option<&User>, info: &RequestInfo) -> Verdict {
        let rule = self.rules.iter().find(|rule| rule.matches(user, info));
        match rule {
            Some(rule) => Verdict {
                level: rule.level,
                omit_stages: self.omit_stages.union(rule.omit_stages),
                omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
            },
            None => Verdict {
                level: Level::None,
                omit_stages: self.omit_stages,
                omit_managed_fields: self.omit_managed_fields,
            },
        }
    }
}

// === impl Rule ===

impl Rule {
    /// What a rule does not name, it does not ask for.
    fn matches(&self, user: Option<&User>, info: &RequestInfo) -> bool {
        let named = |names: &[String], name: &str| names.iter().any(|other| other == name);
        let by_name = self.users.is_empty() || user.is_some_and(|user| named(&self.users, &user.name));
        let in_group = |user: &User| user.groups.iter().any(|group| named(&self.user_groups, group));
        let by_group = self.user_groups.is_empty() || user.is_some_and(in_group);
        let by_verb = self.verbs.is_empty() || named(&self.verbs, info.verb().as_str());
        if !(by_name && by_group && by_verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return info.is_resource_request()
                && (self.namespaces.is_empty() || named(&self.namespaces, info.namespace()))
                && (self.resources.is_empty() || self.resources.iter().any(|resources| resources.matches(info)));
        }
        self.non_resource_urls.is_empty()
            || !info.is_resource_request() && self.non_resource_urls.iter().any(|url| path_matches(info.path(), url))
    }
}

// === impl GroupResources ===

impl GroupResources {
    fn matches(&self, info: &RequestInfo) -> bool {
        if self.group != "*" && self.group != info.api_group() {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        let by_name = self.resource_names.is_empty() || self.resource_names.iter().any(|name| name == info.name());
        by_name && self.resources.iter().any(|resource| resource_matches(resource, info.resource(), info.subresource()))
    }
}

/// `pods`, `pods/log`, `pods/*` (pods, and all below them), `*/log`, `*`.
fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let exact = match pattern.strip_prefix(resource) {
        Some("") => subresource.is_empty(),
        Some(rest) => !subresource.is_empty() && rest.strip_prefix('/') == Some(subresource),
        None => false,
    };
    exact
        || !subresource.is_empty() && pattern.strip_prefix("*/") == Some(subresource)
        || pattern.strip_suffix("/*") == Some(resource)
}

/// A path, `*`, or the beginning of one and `*`.
fn path_matches(path: &str, pattern: &str) -> bool {
    pattern == "*" || pattern == path || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

#[cfg(test)]
mod tests;
