//! Reading a policy. What it does not know is warned of, as upstream does; what makes no sense is refused, in upstream's
//! words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, decode, name};
use serde::Deserialize;
use serde_json::Value;

use super::{GroupResources, Level, Policy, Rule, Stage, Stages};

const API_VERSION: &str = "audit.k8s.io/v1";
const KIND: &str = "Policy";

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("the audit policy {} cannot be read: {source}; check that the file exists and that you may read it", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is neither YAML nor JSON, or fields have values of other types.
    #[error("failed decoding: {0}")]
    Undecodable(String),
    /// It is something else.
    #[error("unknown group version field {api_version}, Kind={kind} in policy: it must be {API_VERSION}, Kind={KIND}")]
    NoPolicy {
        /// What it says it is.
        api_version: String,
        /// What it says it is.
        kind: String,
    },
    /// What it says makes no sense.
    #[error("{0}")]
    Invalid(FieldErrors),
    /// It has no rules, so it says nothing.
    #[error("loaded illegal policy with 0 rules")]
    NoRules,
}

/// A policy as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPolicy {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(rename = "metadata")]
    _metadata: Option<Value>,
    rules: Option<Vec<RawRule>>,
    omit_stages: Option<Vec<String>>,
    omit_managed_fields: Option<bool>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRule {
    level: Option<String>,
    users: Option<Vec<String>>,
    user_groups: Option<Vec<String>>,
    verbs: Option<Vec<String>>,
    resources: Option<Vec<RawResources>>,
    namespaces: Option<Vec<String>>,
    #[serde(rename = "nonResourceURLs")]
    non_resource_urls: Option<Vec<String>>,
    omit_stages: Option<Vec<String>>,
    omit_managed_fields: Option<bool>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResources {
    group: Option<String>,
    resources: Option<Vec<String>>,
    resource_names: Option<Vec<String>>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

// === impl Policy ===

impl Policy {
    /// Reads a policy from a file.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let text = std::fs::read(path).map_err(|source| PolicyError::File { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    /// Reads a policy, YAML or JSON.
    pub fn parse(text: &[u8]) -> Result<Self, PolicyError> {
        let undecodable = |error: &dyn std::fmt::Display| PolicyError::Undecodable(error.to_string());
        let decoded = decode::decode(MediaType::Yaml, text).map_err(|error| undecodable(&error))?;
        let mut problems = decoded.problems();
        let raw: RawPolicy = serde_json::from_value(decoded.value).map_err(|error| undecodable(&error))?;
        let (api_version, kind) = (raw.api_version.clone().unwrap_or_default(), raw.kind.clone().unwrap_or_default());
        if api_version != API_VERSION || kind != KIND {
            return Err(PolicyError::NoPolicy { api_version, kind });
        }
        problems.extend(raw.unknown());
        if !problems.is_empty() {
            tracing::warn!(problems = problems.join(", "), "parts of the audit policy mean nothing, and are left out");
        }
        raw.validate().into_result().map_err(PolicyError::Invalid)?;
        let policy = Self::from(raw);
        if policy.rules.is_empty() { Err(PolicyError::NoRules) } else { Ok(policy) }
    }
}

/// Of a policy that was validated.
impl From<RawPolicy> for Policy {
    fn from(raw: RawPolicy) -> Self {
        Self {
            rules: raw.rules.unwrap_or_default().into_iter().map(Rule::from).collect(),
            omit_stages: stages(raw.omit_stages.as_deref()),
            omit_managed_fields: raw.omit_managed_fields.unwrap_or_default(),
        }
    }
}

impl From<RawRule> for Rule {
    fn from(raw: RawRule) -> Self {
        Self {
            level: raw.level.as_deref().and_then(level).unwrap_or_default(),
            users: raw.users.unwrap_or_default(),
            user_groups: raw.user_groups.unwrap_or_default(),
            verbs: raw.verbs.unwrap_or_default(),
            resources: raw.resources.unwrap_or_default().into_iter().map(GroupResources::from).collect(),
            namespaces: raw.namespaces.unwrap_or_default(),
            non_resource_urls: raw.non_resource_urls.unwrap_or_default(),
            omit_stages: stages(raw.omit_stages.as_deref()),
            omit_managed_fields: raw.omit_managed_fields,
        }
    }
}

impl From<RawResources> for GroupResources {
    fn from(raw: RawResources) -> Self {
        Self {
            group: raw.group.unwrap_or_default(),
            resources: raw.resources.unwrap_or_default(),
            resource_names: raw.resource_names.unwrap_or_default(),
        }
    }
}

fn level(text: &str) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level.as_str() == text)
}

fn stage(text: &str) -> Option<Stage> {
    Stage::ALL.into_iter().find(|stage| stage.as_str() == text)
}

fn stages(texts: Option<&[String]>) -> Stages {
    texts.unwrap_or_default().iter().filter_map(|text| stage(text)).collect()
}

// === impl RawPolicy ===

impl RawPolicy {
    /// Fields that mean nothing.
    fn unknown(&self) -> Vec<String> {
        let fields = |place: String, fields: &BTreeMap<String, Value>| {
            fields.keys().map(move |field| format!("unknown field \"{place}{field}\"")).collect::<Vec<_>>()
        };
        let mut unknown = fields(String::new(), &self.unknown);
        for (number, rule) in self.rules.iter().flatten().enumerate() {
            unknown.extend(fields(format!("rules[{number}]."), &rule.unknown));
            for (inner, resources) in rule.resources.iter().flatten().enumerate() {
                unknown.extend(fields(format!("rules[{number}].resources[{inner}]."), &resources.unknown));
            }
        }
        unknown
    }

    fn validate(&self) -> FieldErrors {
        let mut errors = FieldErrors::default();
        validate_stages(self.omit_stages.as_deref(), &FieldPath::new("omitStages"), &mut errors);
        let rules = FieldPath::new("rules");
        for (number, rule) in self.rules.iter().flatten().enumerate() {
            rule.validate(&rules.index(number), &mut errors);
        }
        errors
    }
}

// === impl RawRule ===

impl RawRule {
    fn validate(&self, path: &FieldPath, errors: &mut FieldErrors) {
        match self.level.as_deref().unwrap_or_default() {
            "" => errors.push(FieldError::required(path.child("level"), "")),
            text if level(text).is_none() => {
                errors.push(FieldError::not_supported(path.child("level"), text, &Level::ALL.map(Level::as_str)));
            }
            _ => {}
        }
        let urls = self.non_resource_urls.as_deref().unwrap_or_default();
        validate_urls(urls, &path.child("nonResourceURLs"), errors);
        let resources = self.resources.as_deref().unwrap_or_default();
        for resource in resources {
            resource.validate(&path.child("resources"), errors);
        }
        validate_stages(self.omit_stages.as_deref(), &path.child("omitStages"), errors);
        let of_resources = !resources.is_empty() || self.namespaces.as_ref().is_some_and(|names| !names.is_empty());
        if !urls.is_empty() && of_resources {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(path.child("nonResourceURLs"), urls.to_vec(), why));
        }
    }
}

// === impl RawResources ===

impl RawResources {
    fn validate(&self, path: &FieldPath, errors: &mut FieldErrors) {
        let group = self.group.as_deref().unwrap_or_default();
        if !matches!(group, "" | "*") {
            let messages = name::dns1123_subdomain(group);
            if !messages.is_empty() {
                errors.push(FieldError::invalid(path.child("group"), group, messages.join(",")));
            }
        }
        let names = self.resource_names.as_deref().unwrap_or_default();
        if !names.is_empty() && self.resources.as_ref().is_none_or(Vec::is_empty) {
            let why = "using resourceNames requires at least one resource";
            errors.push(FieldError::invalid(path.child("resourceNames"), names.to_vec(), why));
        }
    }
}

fn validate_urls(urls: &[String], path: &FieldPath, errors: &mut FieldErrors) {
    for (number, url) in urls.iter().enumerate().filter(|(_, url)| *url != "*") {
        let mut refuse = |why: &str| errors.push(FieldError::invalid(path.index(number), url.as_str(), why));
        if !url.starts_with('/') {
            refuse("non-resource URL rules must begin with a '/' character");
        }
        if url.bytes().rev().skip(1).any(|byte| byte == b'*') {
            refuse("non-resource URL wildcards '*' must be the final character of the rule");
        }
    }
}

fn validate_stages(texts: Option<&[String]>, path: &FieldPath, errors: &mut FieldErrors) {
    for (number, text) in texts.unwrap_or_default().iter().enumerate() {
        if stage(text).is_none() {
            let why = format!("allowed stages are {}", Stage::ALL.map(Stage::as_str).join(","));
            errors.push(FieldError::invalid(path.index(number), text.as_str(), why));
        }
    }
}
