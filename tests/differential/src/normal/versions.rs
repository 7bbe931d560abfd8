//! Resource versions: of objects, which only what the scenario does can move, and of lists, which anything moves.

use std::collections::HashMap;
use std::collections::HashSet;

use serde_json::Value;

use crate::run::Exchange;

/// The plural names of the kinds in the cases: a path that ends in one is a collection's.
const COLLECTIONS: [&str; 20] = [
    "certificates",
    "claims",
    "clusterrolebindings",
    "clusterroles",
    "configmaps",
    "databases",
    "events",
    "groups",
    "httproutes",
    "leases",
    "monitors",
    "namespaces",
    "organizations",
    "orggroups",
    "podtemplates",
    "resourcequotas",
    "rolebindings",
    "roles",
    "secrets",
    "serviceaccounts",
];

/// What versions there were in a scenario up to now.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Versions of objects, and what stands for them.
    objects: HashMap<String, String>,
    newest: u64,
    /// Revisions of lists that are not complete.
    pages: HashSet<String>,
}

/// Whose version it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Object,
    /// A list; what is in it is objects.
    List,
    /// A bookmark; what is in it is a bookmark too.
    Bookmark,
}

// === impl Versions ===

impl Versions {
    /// Replaces the versions in the body of step `step`.
    pub(super) fn replace(&mut self, step: usize, exchange: &Exchange, body: &mut Value) {
        let owner = if is_list(exchange) { Owner::List } else { Owner::Object };
        let mut found = Vec::new();
        for_each(body, owner, &mut |owner, version| {
            if owner == Owner::Object && !version.is_empty() {
                found.push(version.clone());
            }
        });
        self.learn(step, exchange, body, found.clone());
        let newest = found.iter().filter_map(|version| version.parse().ok()).max().unwrap_or_default();
        let token = exchange.path.split(['?', '&']).find_map(|parameter| parameter.strip_prefix("continue="));
        let continues = token.is_some_and(|token| !token.is_empty());
        let text = |field| body.pointer(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let (false, Some(version), Some(_)) =
            (continues, text("/metadata/resourceVersion"), text("/metadata/continue"))
        {
            self.pages.insert(version.to_owned());
        }
        for_each(body, owner, &mut |owner, version| {
            if version.is_empty() {
                return;
            }
            *version = match owner {
                Owner::Object => self.objects.get(version).cloned().unwrap_or_default(),
                Owner::List => self.revision(version, newest, continues),
                Owner::Bookmark => self.revision(version, newest, false),
            };
        });
    }

    /// What stands for a version that is in a text.
    pub(super) fn get(&self, version: &str) -> Option<&str> {
        self.objects.get(version).map(String::as_str)
    }

    fn learn(&mut self, step: usize, exchange: &Exchange, body: &Value, mut found: Vec<String>) {
        found.retain(|version| !self.objects.contains_key(version));
        found.sort_by_key(|version| (version.len(), version.clone()));
        found.dedup();
        let written = is_write(exchange).then(|| body["metadata"]["resourceVersion"].as_str()).flatten();
        let newest = self.newest;
        for (index, version) in found.iter().enumerate() {
            let part = if found.len() == 1 { String::new() } else { format!(".{}", index + 1) };
            let number: u64 = version.parse().unwrap_or_default();
            let back = if written == Some(version) && number < newest { ", older than before" } else { "" };
            self.objects.insert(version.clone(), format!("<rv@{step}{part}{back}>"));
            self.newest = self.newest.max(number);
        }
    }

    fn revision(&self, version: &str, newest: u64, continues: bool) -> String {
        let Ok(number) = version.parse::<u64>() else { return version.to_owned() };
        let revision = match (continues, self.pages.contains(version)) {
            _ if number < newest => "<revision older than what it has>",
            (false, _) => "<revision>",
            (true, true) => "<revision of the first page>",
            (true, false) => "<revision of no first page>",
        };
        revision.to_owned()
    }
}

fn is_list(exchange: &Exchange) -> bool {
    let (path, query) = exchange.path.split_once('?').unwrap_or((&exchange.path, ""));
    let watches = query.split('&').any(|parameter| parameter.starts_with("watch="));
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    !watches && exchange.method != "POST" && COLLECTIONS.contains(&last)
}

fn is_write(exchange: &Exchange) -> bool {
    ["POST", "PUT", "PATCH"].contains(&exchange.method.as_str()) && (200..300).contains(&exchange.answer.status)
}

/// Shows every `metadata.resourceVersion` in a value, and whose it is.
fn for_each(value: &mut Value, owner: Owner, f: &mut impl FnMut(Owner, &mut String)) {
    match value {
        Value::Array(items) => {
            for item in items {
                for_each(item, owner, f);
            }
        }
        Value::Object(map) => {
            if let Some(Value::String(version)) =
                map.get_mut("metadata").and_then(|metadata| metadata.get_mut("resourceVersion"))
            {
                f(owner, version);
            }
            let is_bookmark = map.get("type").is_some_and(|kind| kind == "BOOKMARK");
            let inside = match owner {
                _ if is_bookmark => Owner::Bookmark,
                Owner::Bookmark => Owner::Bookmark,
                Owner::List | Owner::Object => Owner::Object,
            };
            for value in map.values_mut() {
                for_each(value, inside, f);
            }
        }
        _ => {}
    }
}
