//! The values that take the place of references, and where they may go.

use std::collections::HashMap;

use bailiwick_api::bundle::{ObjectPath, PART_OF_LABEL, Part, PlannedResource, Reference, Use, is_secret};
use bailiwick_api::fold_string_data;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::observed::{Observed, Seen};
use super::outcome::Outcome;

/// Types of Secrets that are somebody's identity, and no values for others.
const IDENTITIES: [&str; 2] = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];
/// The type of Secrets whose values are for whoever may read them.
const OPAQUE: &str = "Opaque";
/// What begins the types of those that are made for applications to use.
const SERVICE_BINDING: &str = "servicebinding.io/";
/// Metadata that is the server's to say.
const SERVERS: [&str; 6] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink"];

/// Where values of Secrets stand in objects, by the names of resources.
pub(super) type Filled<'p> = HashMap<&'p str, Vec<&'p ObjectPath>>;

/// The object of a resource, with the values that its dependencies have, as part of this set.
pub(super) fn rendered(
    resource: &PlannedResource,
    observed: &HashMap<String, Observed>,
    apply_set: &str,
) -> Result<Value, Box<Outcome>> {
    let secrets = outputs(resource, observed);
    let find = |reference: &Reference| match secrets.get(&*reference.resource) {
        Some(decoded) if reference.part == Part::Output => reference.find(decoded),
        Some(_) | None => reference.find(&source(reference, observed)?.object),
    };
    let mut object = resource.template.render(&find).map_err(|error| Box::new(Outcome::of_render(&error)))?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in SERVERS {
            metadata.remove(field);
        }
        let labels = metadata.entry("labels").or_insert(Value::Null);
        // What is neither is refused as it is by the host.
        if labels.is_null() || labels.is_object() {
            labels[PART_OF_LABEL] = json!(apply_set);
        }
    }
    if let Some(fields) = object.as_object_mut() {
        fold_string_data(fields);
    }
    Ok(object)
}

/// The Secrets that others have put out and a resource uses, by the names of these: each is decoded once.
fn outputs<'r>(resource: &'r PlannedResource, observed: &HashMap<String, Observed>) -> HashMap<&'r str, Value> {
    let mut outputs = HashMap::new();
    for Use { reference, .. } in resource.template.uses().iter().filter(|used| used.reference.part == Part::Output) {
        if let Some(seen) = source(reference, observed).filter(|seen| seen.is_secret()) {
            outputs.entry(&*reference.resource).or_insert_with(|| decoded(&seen.object));
        }
    }
    outputs
}

/// Refuses values of Secrets where others see them: what an object is was not known when the Bundle was written. Gives where in the
/// object such values stand, as they do in others before it: a permission is one for the object that has it.
pub(super) fn check_secrets<'p>(
    resource: &'p PlannedResource,
    observed: &HashMap<String, Observed>,
    filled: &Filled<'p>,
) -> Result<Vec<&'p ObjectPath>, Box<Outcome>> {
    let mut places = Vec::new();
    for used in resource.template.uses() {
        let Reference { resource: from, part, path } = &used.reference;
        let secret = source(&used.reference, observed).filter(|seen| seen.is_secret() && is_secret(path));
        let is_passed_on =
            *part == Part::Object && filled.get(&**from).into_iter().flatten().any(|place| place.overlaps(path));
        if secret.is_none() && !is_passed_on {
            continue;
        }
        if !resource.may_hold_secret(used) {
            let message = format!("{} is a value of a Secret, and {} is no data of a Secret", used.reference, used.at);
            return Err(Box::new(Outcome::error("SecretLeak", message)));
        }
        places.push(&used.at);
        let Some(seen) = secret else { continue };
        let kind = seen.object.get("type").and_then(Value::as_str).unwrap_or_default();
        if !has_values(kind, used.reference.part) {
            let message = format!(
                "{} is of a Secret of type {kind}, which has no values for others; those of type {OPAQUE} and \
                 {SERVICE_BINDING}… have",
                used.reference
            );
            return Err(Box::new(Outcome::error("SecretTypeNotAllowed", message)));
        }
    }
    Ok(places)
}

/// Whether the values of a Secret of this type may be used. Of the Bundle's own it says itself what they are; of others, such as
/// private keys, it takes only what is meant for it.
fn has_values(kind: &str, part: Part) -> bool {
    match part {
        Part::Object => !IDENTITIES.contains(&kind),
        Part::Binding | Part::Output => kind.is_empty() || kind == OPAQUE || kind.starts_with(SERVICE_BINDING),
    }
}

/// The object that a reference looks into.
fn source<'o>(reference: &Reference, observed: &'o HashMap<String, Observed>) -> Option<&'o Seen> {
    let observed = observed.get(&reference.resource)?;
    match reference.part {
        Part::Object => Some(&observed.object),
        Part::Binding => observed.binding.as_ref(),
        Part::Output => observed.output.as_ref(),
    }
}

/// A Secret with its data as text. What is no text is not there.
pub(super) fn decoded(secret: &Value) -> Value {
    let mut decoded = secret.clone();
    if let Some(data) = decoded.get_mut("data").and_then(Value::as_object_mut) {
        data.retain(|_, value| {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => {
                    *value = Value::String(text);
                    true
                }
                None => false,
            }
        });
    }
    decoded
}

#[cfg(test)]
mod tests;
