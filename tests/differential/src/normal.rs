//! What answers have in common although no two servers give the same: a uid is not the same elsewhere, but is the same as the one
//! in the step before.
//!
//! A scenario's answers become values of which two servers that behave alike give equal ones:
//!
//! ```text
//! {"status": 200, "headers": {…}, "layout": "compact", "body": {"metadata": {"name": "a", "uid": "<uid@1>", "resourceVersion": "<rv@3>"}}}
//! ```
//!
//! where `rv@3` is a version first seen in step 3. Revisions of lists and bookmarks move with everything else that happens in a
//! server, so they are only checked: not older than what is in the list, and the same on all pages of one walk.

mod causes;
mod cells;
mod discovery;
mod keys;
mod managers;
mod rules;
mod text;
mod versions;

use std::collections::BTreeSet;

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::decode::from_yaml;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::proto::Envelope;
use bytes::Bytes;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::accepted::Stripped;
use crate::run::Exchange;

use text::Texts;
use versions::Versions;

/// Headers that say nothing about how a server behaves: when, for whom, through which queue, in how many pieces.
const IGNORED_HEADERS: [&str; 6] = [
    "audit-id",
    "content-length",
    "date",
    "transfer-encoding",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// A scenario's answers, comparable.
#[derive(Debug)]
pub struct Normal {
    /// One for each step.
    pub answers: Vec<Value>,
    /// The fields of [`Stripped`] that there were.
    pub stripped: BTreeSet<String>,
}

/// Makes a scenario's answers comparable. `authority` is the server's host and port.
pub fn normalise(exchanges: &[Exchange], authority: &str, stripped: &[Stripped]) -> Normal {
    let mut versions = Versions::default();
    let mut texts = Texts::new(authority);
    let mut found = BTreeSet::new();
    let mut answers = Vec::with_capacity(exchanges.len());
    for (index, exchange) in exchanges.iter().enumerate() {
        let mut answer = tree(exchange);
        for Stripped { field, .. } in stripped {
            if strip(&mut answer["body"], &field.split('.').collect::<Vec<_>>()) {
                found.insert(field.clone());
            }
        }
        discovery::keep_ours(&mut answer["body"]);
        discovery::keep_our_paths(path_of(exchange), &mut answer["body"]);
        discovery::hide_build(path_of(exchange), &mut answer["body"]);
        cells::hide_ages(&mut answer["body"]);
        causes::sort(&mut answer["body"]);
        managers::sort(&mut answer["body"]);
        rules::sort(&mut answer["body"]);
        keys::hide(&mut answer["body"]);
        versions.replace(index + 1, exchange, &mut answer["body"]);
        texts.replace(index + 1, &exchange.sent, &versions, &mut answer);
        join_bookmarks(&mut answer["body"]);
        answers.push(answer);
    }
    Normal { answers, stripped: found }
}

/// The reason of a Status.
pub fn reason(exchange: &Exchange) -> Option<String> {
    let body: Value = serde_json::from_slice(&exchange.answer.body).ok()?;
    if body["kind"] != "Status" {
        return None;
    }
    body["reason"].as_str().map(str::to_owned)
}

fn path_of(exchange: &Exchange) -> &str {
    exchange.path.split('?').next().unwrap_or_default()
}

fn tree(exchange: &Exchange) -> Value {
    let answer = &exchange.answer;
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in &answer.headers {
        if IGNORED_HEADERS.contains(&name.as_str()) {
            continue;
        }
        // Of an entity tag only that there is one can be the same.
        let value = if name == "etag" { "<etag>" } else { value };
        let values = headers.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(values) = values {
            values.push(value.into());
        }
    }
    let content_type = headers.get("content-type").and_then(|values| values[0].as_str()).unwrap_or_default();
    let (body, layout) = body(&answer.body, content_type);
    json!({"status": answer.status, "headers": headers, "layout": layout, "body": body})
}

/// A body as a value, and how it was laid out. A watch gives a list of events.
fn body(bytes: &[u8], content_type: &str) -> (Value, &'static str) {
    if bytes.is_empty() {
        return (Value::Null, "empty");
    }
    if content_type.starts_with("application/yaml")
        && let Ok(decoded) = from_yaml(bytes)
    {
        return (decoded.value, "yaml");
    }
    if content_type.starts_with("application/vnd.kubernetes.protobuf") {
        // Of other messages, what a client reads from it is compared where the same is said in JSON.
        return (from_protobuf(bytes).unwrap_or_else(|| "<protobuf>".into()), "protobuf");
    }
    let documents: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(bytes).into_iter().collect();
    match documents {
        Ok(mut documents) if documents.len() == 1 && documents[0].get("object").is_none() => {
            (documents.remove(0), layout(bytes))
        }
        Ok(documents) => (documents.into(), layout(bytes)),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned().into(), "text"),
    }
}

/// An object or a list of one of Kubernetes' own kinds.
fn from_protobuf(bytes: &[u8]) -> Option<Value> {
    let envelope = Envelope::read(Bytes::copy_from_slice(bytes)).ok()?;
    let gvk = GroupVersion::parse(&envelope.api_version)?.kind(envelope.kind.clone());
    Some(HostType::of(&gvk)?.from_protobuf(&envelope).ok()?.into())
}

fn layout(bytes: &[u8]) -> &'static str {
    let indented = bytes.windows(2).any(|pair| pair == b"\n ");
    match (indented, bytes.ends_with(b"\n")) {
        (false, true) => "compact",
        (false, false) => "compact, without a line end",
        (true, true) => "indented, with a line end",
        (true, false) => "indented",
    }
}

/// How often a server says how far it has come is a matter of time.
fn join_bookmarks(body: &mut Value) {
    if let Value::Array(events) = body {
        events.dedup_by(|event, before| event["type"] == "BOOKMARK" && event == before);
    }
}

/// Takes a field out of every object that has it. Says whether there was any.
fn strip(value: &mut Value, field: &[&str]) -> bool {
    let mut found = remove(value, field);
    match value {
        Value::Object(map) => {
            for value in map.values_mut() {
                found |= strip(value, field);
            }
        }
        Value::Array(items) => {
            for value in items {
                found |= strip(value, field);
            }
        }
        _ => {}
    }
    found
}

fn remove(value: &mut Value, field: &[&str]) -> bool {
    let Some((last, way)) = field.split_last() else { return false };
    let mut value = value;
    for key in way {
        let Some(next) = value.get_mut(key) else { return false };
        value = next;
    }
    value.as_object_mut().is_some_and(|map| map.remove(*last).is_some())
}

#[cfg(test)]
mod tests;
