//! What `${…}` in a case file stands for.
//!
//! | written | replaced by |
//! |---|---|
//! | `${ns}`, `${id}` | the scenario's namespace; a word that no other scenario and no other run has |
//! | `${claims}`, `${all-claims}`, `${groups}`, `${organizations}` | paths of collections |
//! | `${configmaps}`, `${core}` | the path of the scenario's config maps, and of its other objects of `v1` |
//! | `${configmap a}` | a config map called `a`, as JSON |
//! | `${claim a}`, `${group a}` | a whole valid object called `a`, as JSON; the group's name begins with `${id}-` |
//! | `${claim-type}`, `${group-type}`, `${organization-type}` | `"apiVersion": …, "kind": …` |
//! | `${spec}` | `"spec": …` of a valid claim |
//! | `${name}` | what an earlier step captured |
//! | `${name+1000}` | a captured number and something |
//! | `${repeat 3}x${end}`, `${list 3}x${i}${end}` | `xxx`; `x0,x1,x2` |

use std::collections::HashMap;

use crate::error::Error;

const SAMPLES: &str = "/apis/samples.example.com/v1alpha1";
const ORG: &str = "/apis/org.bailiwick.dev/v1alpha1";
const CLAIM_TYPE: &str = r#""apiVersion": "samples.example.com/v1alpha1", "kind": "Claim""#;
const GROUP_TYPE: &str = r#""apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "Group""#;
const ORGANIZATION_TYPE: &str = r#""apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "Organization""#;
const SPEC: &str =
    r#""spec": {"catalogName": "gold", "resourceCatalogEntry": {"namespace": "shop", "name": "database"}}"#;

/// What names stand for in one scenario on one server.
#[derive(Debug)]
pub(crate) struct Variables {
    id: String,
    captured: HashMap<String, String>,
}

// === impl Variables ===

impl Variables {
    /// For the scenario with the unique word `id`.
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), captured: HashMap::new() }
    }

    pub(crate) fn capture(&mut self, name: &str, value: String) {
        self.captured.insert(name.to_owned(), value);
    }

    /// Replaces everything in `text` that is to be replaced. `step` is for errors.
    pub(crate) fn expand(&self, step: &str, text: &str) -> Result<String, Error> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            let (name, after) = after.split_once('}').ok_or_else(|| unknown(step, after))?;
            rest = after;
            let Some((separator, count)) = repetition(name) else {
                expanded.push_str(&self.value(step, name)?);
                continue;
            };
            let bad = || Error::BadRepetition { step: step.to_owned() };
            let count: usize = count.parse().map_err(|_| bad())?;
            let (repeated, after) = rest.split_once("${end}").ok_or_else(bad)?;
            let turns: Vec<String> = (0..count).map(|i| repeated.replace("${i}", &i.to_string())).collect();
            expanded.push_str(&turns.join(separator));
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value(&self, step: &str, name: &str) -> Result<String, Error> {
        if let Some(value) = self.captured.get(name) {
            return Ok(value.clone());
        }
        let id = &self.id;
        let value = match name.split_once(' ') {
            Some(("claim", name)) => format!(r#"{{{CLAIM_TYPE}, "metadata": {{"name": "{name}"}}, {SPEC}}}"#),
            Some(("configmap", name)) => {
                format!(
                    r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"}}, "data": {{"k": "v"}}}}"#
                )
            }
            Some(("group", name)) => {
                format!(r#"{{{GROUP_TYPE}, "metadata": {{"name": "{id}-{name}"}}, "users": ["alice"]}}"#)
            }
            Some(_) => return Err(unknown(step, name)),
            None => match name {
                "ns" | "id" => id.clone(),
                "claims" => format!("{SAMPLES}/namespaces/{id}/claims"),
                "all-claims" => format!("{SAMPLES}/claims"),
                "configmaps" => format!("/api/v1/namespaces/{id}/configmaps"),
                "core" => format!("/api/v1/namespaces/{id}"),
                "groups" => format!("{ORG}/groups"),
                "organizations" => format!("{ORG}/organizations"),
                "claim-type" => CLAIM_TYPE.to_owned(),
                "group-type" => GROUP_TYPE.to_owned(),
                "organization-type" => ORGANIZATION_TYPE.to_owned(),
                "spec" => SPEC.to_owned(),
                _ => return self.sum(name).ok_or_else(|| unknown(step, name)),
            },
        };
        Ok(value)
    }

    /// `name+1000`.
    fn sum(&self, text: &str) -> Option<String> {
        let (name, addend) = text.split_once('+')?;
        let value: u64 = self.captured.get(name)?.parse().ok()?;
        Some((value + addend.parse::<u64>().ok()?).to_string())
    }
}

fn repetition(name: &str) -> Option<(&'static str, &str)> {
    let (kind, count) = name.split_once(' ')?;
    match kind {
        "repeat" => Some(("", count)),
        "list" => Some((",", count)),
        _ => None,
    }
}

fn unknown(step: &str, name: &str) -> Error {
    Error::UnknownVariable { step: step.to_owned(), name: name.chars().take(40).collect() }
}

#[cfg(test)]
mod tests;
