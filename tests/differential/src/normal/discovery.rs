//! Discovery and the version: two servers need not serve the same groups, nor be the same build.

use serde_json::Value;

/// The end of the names of the groups that the cases are about.
const OURS: &str = ".bailiwick.dev";

/// What a build calls itself.
const BUILD: [&str; 7] = ["buildDate", "compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion", "platform"];

/// Takes other paths out of the index at `/`.
pub(super) fn keep_our_paths(path: &str, body: &mut Value) {
    if path == "/" {
        for_list(body, "paths", |paths| paths.retain(|path| path.as_str().is_some_and(|path| path.contains(OURS))));
    }
}

/// Takes other groups out of a list of groups, and sorts what is left: kinds that were taught come in the order of a Go map.
pub(super) fn keep_ours(body: &mut Value) {
    let list = match body.get("kind").and_then(Value::as_str) {
        Some("APIGroupList") => "groups",
        Some("APIGroupDiscoveryList") => "items",
        Some("APIResourceList") => "resources",
        _ => return,
    };
    let is_of_groups = list != "resources";
    for_list(body, list, |items| {
        items.retain(|item| !is_of_groups || name(item).ends_with(OURS));
        for group in items.iter_mut() {
            for_list(group, "versions", |versions| {
                for version in versions {
                    for_list(version, "resources", |resources| sort(resources));
                }
            });
        }
        sort(items);
    });
}

/// Indexing a value that may be changed would add what is not there.
fn for_list(value: &mut Value, field: &str, f: impl FnOnce(&mut Vec<Value>)) {
    if let Some(list) = value.get_mut(field).and_then(Value::as_array_mut) {
        f(list);
    }
}

fn sort(items: &mut [Value]) {
    items.sort_by(|left, right| name(left).cmp(name(right)));
}

fn name(item: &Value) -> &str {
    let names = [&item["name"], &item["metadata"]["name"], &item["resource"]];
    names.into_iter().find_map(Value::as_str).unwrap_or_default()
}

/// Replaces what `/version` says about a build by that it says it.
pub(super) fn hide_build(path: &str, body: &mut Value) {
    if path != "/version" {
        return;
    }
    for field in BUILD {
        if let Some(value) = body.get_mut(field).filter(|value| value.is_string()) {
            *value = "<build>".into();
        }
    }
}
