//! Discovery and the version: two servers need not serve the same groups, nor be the same build.

use serde_json::Value;

/// The end of the names of the groups that the cases are about.
const OURS: &str = ".bailiwick.dev";

/// What a build calls itself.
const BUILD: [&str; 7] = ["buildDate", "compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion", "platform"];

/// Takes other groups out of a list of groups, and sorts what is left: kinds that were taught come in the order of a Go map.
pub(super) fn keep_ours(body: &mut Value) {
    let list = match body["kind"].as_str() {
        Some("APIGroupList") => "groups",
        Some("APIGroupDiscoveryList") => "items",
        Some("APIResourceList") => return sort(&mut body["resources"]),
        _ => return,
    };
    if let Some(groups) = body[list].as_array_mut() {
        groups.retain(|group| name(group).ends_with(OURS));
        for version in groups.iter_mut().filter_map(|group| group["versions"].as_array_mut()).flatten() {
            if let Some(resources) = version.get_mut("resources") {
                sort(resources);
            }
        }
    }
    sort(&mut body[list]);
}

fn sort(list: &mut Value) {
    if let Some(items) = list.as_array_mut() {
        items.sort_by(|left, right| name(left).cmp(name(right)));
    }
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
