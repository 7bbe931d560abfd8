//! Discovery and the version: two servers need not serve the same groups, nor be the same build.

use serde_json::Value;

/// The end of the names of the groups that the cases are about.
const OURS: &str = ".bailiwick.dev";

/// What a build calls itself.
const BUILD: [&str; 7] =
    ["buildDate", "compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion", "platform"];

/// Takes other groups out of a list of groups.
pub(super) fn keep_ours(body: &mut Value) {
    let list = match body["kind"].as_str() {
        Some("APIGroupList") => "groups",
        Some("APIGroupDiscoveryList") => "items",
        _ => return,
    };
    if let Some(groups) = body[list].as_array_mut() {
        groups.retain(|group| {
            let name = group["name"].as_str().or(group["metadata"]["name"].as_str());
            name.is_some_and(|name| name.ends_with(OURS))
        });
    }
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
