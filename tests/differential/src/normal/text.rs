//! Texts in answers that name what only one server has: uids, times, versions, generated names, tokens, its own address.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Captures;
use regex::NoExpand;
use regex::Regex;
use serde_json::Value;

use super::versions::Versions;

static UID: LazyLock<Regex> =
    LazyLock::new(|| regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));

/// A token of a service account: what it says is asked of the server.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"));

/// Times of the cases themselves are older.
static NOW: LazyLock<Regex> =
    LazyLock::new(|| regex("20(2[6-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));

static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[0-9]+\b"));

static ABOUT_VERSIONS: LazyLock<Regex> = LazyLock::new(|| regex("(?i)resource ?version"));

/// Texts that name how far a server has come.
static ABOUT_PROGRESS: LazyLock<Regex> = LazyLock::new(|| regex("(?i)too (large|old) resource version"));

static GENERATE_NAME: LazyLock<Regex> = LazyLock::new(|| regex("\"generateName\": \"([^\"]+)\""));

/// What a server appends to a generateName.
const GENERATED: &str = r"[bcdfghjklmnpqrstvwxz2456789]{5}\b";

/// The texts that a scenario's answers had up to now.
#[derive(Debug)]
pub(super) struct Texts {
    authority: String,
    uids: HashMap<String, String>,
    /// Names that a server made up, and what they begin with.
    names: Vec<(Regex, String)>,
}

// === impl Texts ===

impl Texts {
    pub(super) fn new(authority: &str) -> Self {
        Self { authority: authority.to_owned(), uids: HashMap::new(), names: Vec::new() }
    }

    /// Replaces what is in the texts of step `step`, in which the body `sent` was sent.
    pub(super) fn replace(&mut self, step: usize, sent: &str, versions: &Versions, answer: &mut Value) {
        for found in GENERATE_NAME.captures_iter(sent) {
            let name = regex(&format!("{}{GENERATED}", regex::escape(&found[1])));
            self.names.push((name, format!("{}<generated>", &found[1])));
        }
        let mut new = 0;
        for_each(answer, &mut |text| {
            for uid in UID.find_iter(text) {
                self.uids.entry(uid.as_str().to_owned()).or_insert_with(|| {
                    new += 1;
                    format!("<uid@{step}.{new}>")
                });
            }
        });
        for_each(answer, &mut |text| *text = self.replaced(text, versions));
        self.rename_fields(answer);
    }

    /// Who owns the fields of an owner reference is told by a field that is called by its uid.
    fn rename_fields(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename_fields(item)),
            Value::Object(map) => {
                map.values_mut().for_each(|value| self.rename_fields(value));
                if map.keys().any(|name| UID.is_match(name)) {
                    let uid = |found: &Captures<'_>| self.uids.get(&found[0]).cloned().unwrap_or_default();
                    let renamed = |(name, value): (String, Value)| (UID.replace_all(&name, uid).into_owned(), value);
                    *map = std::mem::take(map).into_iter().map(renamed).collect();
                }
            }
            _ => {}
        }
    }

    fn replaced(&self, text: &str, versions: &Versions) -> String {
        let uid = |found: &Captures<'_>| self.uids.get(&found[0]).cloned().unwrap_or_default();
        let text = TOKEN.replace_all(text, "<token>");
        let mut text = UID.replace_all(&text, uid).into_owned();
        text = NOW.replace_all(&text, "<time>").into_owned();
        text = text.replace(&self.authority, "<server>");
        for (name, replacement) in &self.names {
            text = name.replace_all(&text, NoExpand(replacement)).into_owned();
        }
        if ABOUT_PROGRESS.is_match(&text) {
            text = NUMBER.replace_all(&text, "<rv>").into_owned();
        } else if ABOUT_VERSIONS.is_match(&text) {
            let version = |found: &Captures<'_>| versions.get(&found[0]).unwrap_or(&found[0]).to_owned();
            text = NUMBER.replace_all(&text, version).into_owned();
        }
        text
    }
}

/// Shows every text in a value, in an order that does not depend on that of fields.
fn for_each(value: &mut Value, f: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => f(text),
        Value::Array(items) => items.iter_mut().for_each(|item| for_each(item, f)),
        Value::Object(map) => {
            if let Some(Value::String(token)) = map.get_mut("continue").filter(|token| *token != "") {
                *token = "<continue>".to_owned();
            }
            let mut fields: Vec<_> = map.iter_mut().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            for (_, value) in fields {
                for_each(value, f);
            }
        }
        _ => {}
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constants, and what is escaped")
}
