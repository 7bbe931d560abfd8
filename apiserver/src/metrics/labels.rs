//! What requests are told apart by. Each label is a type with few values, so none can come from a client.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};

use crate::form::text;
use crate::request::Request;
use crate::request_info::{RequestInfo, Verb};

/// The labels of a request. `target` is a number that only [`RequestMetrics`](super::RequestMetrics) gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Labels {
    pub(super) target: usize,
    pub(super) verb: VerbLabel,
    pub(super) scope: ScopeLabel,
    pub(super) dry_run: DryRunLabel,
}

/// What a request wants to do, as Kubernetes' metrics name it: by the method, but for those that have a name of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbLabel {
    Get,
    List,
    Watch,
    Post,
    Put,
    Patch,
    Apply,
    Delete,
    Other,
}

/// How much a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeLabel {
    None,
    Cluster,
    Namespace,
    Resource,
}

/// Whether a request is only to be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DryRunLabel {
    No,
    All,
    Invalid,
}

// === impl Labels ===

impl Labels {
    /// How many sets of labels each target has.
    pub(super) const PER_TARGET: usize = VerbLabel::ALL.len() * ScopeLabel::ALL.len() * DryRunLabel::ALL.len();

    /// A number for each set of labels that a target has.
    pub(super) fn index_in_target(self) -> usize {
        (self.verb as usize * ScopeLabel::ALL.len() + self.scope as usize) * DryRunLabel::ALL.len()
            + self.dry_run as usize
    }

    /// The labels of a target and a number.
    pub(super) fn at(target: usize, within: usize) -> Self {
        let (rest, dry_run) = (within / DryRunLabel::ALL.len(), within % DryRunLabel::ALL.len());
        let (verb, scope) = (rest / ScopeLabel::ALL.len(), rest % ScopeLabel::ALL.len());
        Self { target, verb: VerbLabel::ALL[verb], scope: ScopeLabel::ALL[scope], dry_run: DryRunLabel::ALL[dry_run] }
    }

    /// Whether the request goes on until someone ends it.
    pub(crate) fn is_long_running(self) -> bool {
        self.verb == VerbLabel::Watch
    }
}

// === impl VerbLabel ===

impl VerbLabel {
    pub(super) const ALL: [Self; 9] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Apply,
        Self::Delete,
        Self::Other,
    ];

    pub(super) fn of(request: &Request, headers: &HeaderMap, scope: ScopeLabel) -> Self {
        if request.is_watch() {
            return Self::Watch;
        }
        match *request.method() {
            Method::GET | Method::HEAD => match scope {
                ScopeLabel::None | ScopeLabel::Resource => Self::Get,
                ScopeLabel::Cluster | ScopeLabel::Namespace => Self::List,
            },
            Method::POST => Self::Post,
            Method::PUT => Self::Put,
            Method::PATCH if text(headers, CONTENT_TYPE).starts_with("application/apply-patch") => Self::Apply,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => Self::Other,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::List => "LIST",
            Self::Watch => "WATCH",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Apply => "APPLY",
            Self::Delete => "DELETE",
            Self::Other => "other",
        }
    }
}

// === impl ScopeLabel ===

impl ScopeLabel {
    pub(super) const ALL: [Self; 4] = [Self::None, Self::Cluster, Self::Namespace, Self::Resource];

    pub(super) fn of(info: &RequestInfo) -> Self {
        if !info.name().is_empty() || *info.verb() == Verb::Create {
            Self::Resource
        } else if !info.namespace().is_empty() {
            Self::Namespace
        } else if info.is_resource_request() {
            Self::Cluster
        } else {
            Self::None
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Cluster => "cluster",
            Self::Namespace => "namespace",
            Self::Resource => "resource",
        }
    }
}

// === impl DryRunLabel ===

impl DryRunLabel {
    pub(super) const ALL: [Self; 3] = [Self::No, Self::All, Self::Invalid];

    pub(super) fn of(request: &Request) -> Self {
        let mut found = Self::No;
        for value in request.query().all("dryRun") {
            match value {
                "All" => found = Self::All,
                _ => return Self::Invalid,
            }
        }
        found
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::No => "",
            Self::All => "All",
            Self::Invalid => "invalid",
        }
    }
}

#[cfg(test)]
mod tests;
