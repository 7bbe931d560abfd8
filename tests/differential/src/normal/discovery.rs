//! Discovery and the version: two servers need not serve the same groups, nor be the same build.

use serde_json::Map;
use serde_json::Value;

/// The groups that the cases are about.
const COMPARED: [&str; 2] = ["org.bailiwick.dev", "samples.example.com"];

/// What a host without nodes has of Kubernetes' first group.
const HOST: [&str; 10] = [
    "configmaps",
    "events",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    "podtemplates",
    "resourcequotas",
    "resourcequotas/status",
    "secrets",
    "serviceaccounts",
];

/// What a build calls itself.
const BUILD: [&str; 7] = ["buildDate", "compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion", "platform"];

/// Takes other paths out of the index at `/`.
pub(super) fn keep_our_paths(path: &str, body: &mut Value) {
    if path == "/" {
        for_list(body, "paths", |paths| paths.retain(|path| path.as_str().is_some_and(is_of_compared)));
    }
}

/// Takes other groups out of a list of groups. Lists become maps by name, and verbs are sorted: no client may rely on their
/// order, which is that of a Go map for kinds that were taught.
pub(super) fn keep_ours(body: &mut Value) {
    match body.get("kind").and_then(Value::as_str) {
        Some("APIGroupList") => keep_our_groups(body, "groups"),
        Some("APIGroupDiscoveryList") => keep_our_groups(body, "items"),
        Some("APIResourceList") => {
            if body["groupVersion"] == "v1" {
                for_list(body, "resources", |resources| resources.retain(|resource| HOST.contains(&name(resource))));
            }
            by_name(body, "resources");
        }
        _ => {}
    }
}

fn is_of_compared(path: &str) -> bool {
    path.split('/').any(|part| COMPARED.contains(&part))
}

fn keep_our_groups(body: &mut Value, list: &str) {
    for_list(body, list, |groups| {
        groups.retain(|group| COMPARED.contains(&name(group)));
        for group in groups {
            for_list(group, "versions", |versions| {
                versions.iter_mut().for_each(|version| by_name(version, "resources"));
            });
        }
    });
    by_name(body, list);
}

/// Makes a map of a list of what has names and verbs, and maybe subresources that have them, too.
fn by_name(value: &mut Value, field: &str) {
    let Some(list) = value.get_mut(field).filter(|list| list.is_array()) else { return };
    let Value::Array(items) = list.take() else { return };
    let mut map = Map::new();
    for mut item in items {
        for_list(&mut item, "verbs", |verbs| verbs.sort_by_key(Value::to_string));
        by_name(&mut item, "subresources");
        map.insert(name(&item).to_owned(), item);
    }
    *list = map.into();
}

/// Indexing a value that may be changed would add what is not there.
fn for_list(value: &mut Value, field: &str, f: impl FnOnce(&mut Vec<Value>)) {
    if let Some(list) = value.get_mut(field).and_then(Value::as_array_mut) {
        f(list);
    }
}

fn name(item: &Value) -> &str {
    let names = [&item["name"], &item["metadata"]["name"], &item["resource"], &item["subresource"]];
    names.into_iter().find_map(Value::as_str).unwrap_or_default()
}

/// Replaces what `/version` says about a build by that it says it.
pub(super) fn hide_build(path: &str, body: &mut Value) {
    if path.trim_end_matches('/') != "/version" {
        return;
    }
    for field in BUILD {
        if let Some(value) = body.get_mut(field).filter(|value| value.is_string()) {
            *value = "<build>".into();
        }
    }
}
