//! Options of removing objects: from the body if there is one, otherwise from the query, and never from both.

use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupVersion, Status};
use bailiwick_registry::{DeleteOptions, Preconditions, PropagationPolicy};
use serde_json::{Map, Value};

use super::write::parse_dry_run;
use super::{bad_request, checked};
use crate::go::{json_type, parse_int, quote};
use crate::query::Query;

/// The options of a deletion, before it is known whether there is a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteQuery<'r>(&'r Query);

/// Options as they were sent.
#[derive(Default)]
struct Parameters {
    grace_period_seconds: Option<i64>,
    preconditions: Option<Preconditions>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    dry_run: Vec<String>,
}

// === impl DeleteQuery ===

impl<'r> DeleteQuery<'r> {
    pub(crate) fn new(query: &'r Query) -> Self {
        Self(query)
    }

    /// The options that the body gives, or, if there is none, the query.
    pub fn options(&self, body: Option<&Value>) -> Result<DeleteOptions, Box<Status>> {
        match body {
            Some(body) => Parameters::from_body(body)?.check(),
            None => Parameters::from_query(self.0)?.check(),
        }
    }
}

// === impl Parameters ===

impl Parameters {
    fn from_query(query: &Query) -> Result<Self, Box<Status>> {
        let grace = query.first("gracePeriodSeconds").map(parse_int).transpose();
        let given = |name: &str| query.first(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let preconditions = Preconditions { uid: given("uid"), resource_version: given("resourceVersion") };
        Ok(Self {
            grace_period_seconds: grace.map_err(|error| bad_request(error.to_string()))?,
            preconditions: Some(preconditions).filter(|preconditions| *preconditions != Preconditions::default()),
            orphan_dependents: query.switch("orphanDependents"),
            propagation_policy: query.first("propagationPolicy").map(str::to_owned),
            dry_run: query.all("dryRun").map(str::to_owned).collect(),
        })
    }

    fn from_body(body: &Value) -> Result<Self, Box<Status>> {
        let fields = match body {
            Value::Null => return Ok(Self::default()),
            Value::Object(fields) => Fields { owner: "DeleteOptions", within: "", fields },
            other => {
                return Err(bad_request(format!("json: cannot unmarshal {} into DeleteOptions", json_type(other))));
            }
        };
        check_kind(&fields)?;
        let preconditions = match fields.get("preconditions") {
            None => None,
            Some(Value::Object(inner)) => {
                let inner = Fields { owner: "Preconditions", within: "preconditions.", fields: inner };
                let uid = inner.text("uid", "types.UID")?;
                Some(Preconditions { uid, resource_version: inner.text("resourceVersion", "string")? })
            }
            Some(other) => return Err(fields.mismatch("preconditions", other, "v1.Preconditions")),
        };
        // Upstream has this option behind a gate that is closed, but looks at its type.
        fields.boolean("ignoreStoreReadErrorWithClusterBreakingPotential")?;
        Ok(Self {
            grace_period_seconds: fields.integer("gracePeriodSeconds")?,
            preconditions,
            orphan_dependents: fields.boolean("orphanDependents")?,
            propagation_policy: fields.text("propagationPolicy", "v1.DeletionPropagation")?,
            dry_run: fields.texts("dryRun")?,
        })
    }

    fn check(self) -> Result<DeleteOptions, Box<Status>> {
        let mut errors = FieldErrors::default();
        let field = FieldPath::new("propagationPolicy");
        let mut policy = None;
        if let Some(text) = &self.propagation_policy {
            if self.orphan_dependents.is_some() {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(FieldError::invalid(field.clone(), text.as_str(), why));
            }
            policy = parse_policy(text);
            if policy.is_none() {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(field, text.as_str(), &supported));
            }
        }
        let dry_run = parse_dry_run(self.dry_run.iter().map(String::as_str), &mut errors);
        checked("DeleteOptions", errors)?;
        Ok(DeleteOptions {
            grace_period_seconds: self.grace_period_seconds,
            preconditions: self.preconditions,
            orphan_dependents: self.orphan_dependents,
            propagation_policy: policy,
            dry_run,
        })
    }
}

fn parse_policy(text: &str) -> Option<PropagationPolicy> {
    match text {
        "Orphan" => Some(PropagationPolicy::Orphan),
        "Background" => Some(PropagationPolicy::Background),
        "Foreground" => Some(PropagationPolicy::Foreground),
        _ => None,
    }
}

/// Fields of a body, of which `null` is as good as absent.
struct Fields<'b> {
    owner: &'static str,
    within: &'static str,
    fields: &'b Map<String, Value>,
}

// === impl Fields ===

impl<'b> Fields<'b> {
    fn get(&self, name: &str) -> Option<&'b Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str, kind: &str) -> Result<Option<String>, Box<Status>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.mismatch(name, other, kind)),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, Box<Status>> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Value::String(text) => Ok(text.clone()),
                    Value::Null => Ok(String::new()),
                    other => Err(self.mismatch(name, other, "string")),
                })
                .collect(),
            Some(other) => Err(self.mismatch(name, other, "[]string")),
        }
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, Box<Status>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.mismatch(name, other, "bool")),
        }
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, Box<Status>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) => match number.as_i64() {
                Some(value) => Ok(Some(value)),
                None => Err(self.mismatch_with(name, &format!("number {number}"), "int64")),
            },
            Some(other) => Err(self.mismatch(name, other, "int64")),
        }
    }

    fn mismatch(&self, name: &str, found: &Value, kind: &str) -> Box<Status> {
        self.mismatch_with(name, json_type(found), kind)
    }

    fn mismatch_with(&self, name: &str, found: &str, kind: &str) -> Box<Status> {
        let Self { owner, within, .. } = self;
        bad_request(format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{within}{name} of type {kind}"
        ))
    }
}

/// Every group has its `DeleteOptions`; they are all the same.
fn check_kind(fields: &Fields<'_>) -> Result<(), Box<Status>> {
    let named = |name: &str| match fields.get(name) {
        None => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => {
            let found = json_type(other);
            let problem = format!("json: cannot unmarshal {found} into Go struct field .{name} of type string");
            Err(bad_request(format!("couldn't get version/kind; json parse error: {problem}")))
        }
    };
    let (api_version, kind) = (named("apiVersion")?, named("kind")?);
    if GroupVersion::parse(api_version).is_none() {
        return Err(bad_request(format!("unexpected GroupVersion string: {api_version}")));
    }
    if !matches!(kind, "" | "DeleteOptions") {
        let (kind, version) = (quote(kind), quote(api_version));
        return Err(bad_request(format!("no kind {kind} is registered for version {version}: expected DeleteOptions")));
    }
    Ok(())
}
