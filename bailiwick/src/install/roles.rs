//! What Kubernetes' roles `admin`, `edit` and `view` allow with our kinds. It follows from the kinds.
//!
//! Kinds of the cluster as a whole are not among them: those roles are for whoever works in a namespace. Verbs beyond the usual
//! ones, such as `claim` and `publish`, are nobody's until they are given.

use bailiwick_machinery::Scope;
use bailiwick_registry::{Kind, VirtualVerb};
use serde_json::{Map, Value, json};

use super::manifest::Manifest;
use super::plan::Plan;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// The roles that Kubernetes puts its own together from.
pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    let namespaced: Vec<_> = plan.kinds.iter().filter(|kind| kind.scope() == Scope::Namespaced).collect();
    // What may hold secrets is shown to those only who may read secrets.
    let shown: Vec<_> = namespaced.iter().copied().filter(|kind| !kind.is_secret_bearing()).collect();
    let verbs: Vec<_> = READ.into_iter().chain(WRITE).collect();
    let roles = [
        ("bailiwick:edit", &["admin", "edit"][..], "administer or edit", rules(&namespaced, &verbs)),
        ("bailiwick:view", &["view"][..], "view", rules(&shown, &READ)),
    ];
    roles
        .into_iter()
        .filter(|(.., rules)| !rules.is_empty())
        .map(|(name, into, may, rules)| {
            let labels: Map<_, _> = into
                .iter()
                .map(|role| (format!("rbac.authorization.k8s.io/aggregate-to-{role}"), Value::from("true")))
                .collect();
            let why = format!("What those who may {may} a namespace may do there with our kinds.");
            Manifest::new(
                why,
                json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "ClusterRole",
                    "metadata": {"name": name, "labels": labels},
                    "rules": rules,
                }),
            )
        })
        .collect()
}

/// One rule for each kind that has any of the verbs, in all its groups.
fn rules(kinds: &[&Kind], verbs: &[&str]) -> Vec<Value> {
    let mut rules = Vec::new();
    for kind in kinds {
        let mut groups: Vec<_> =
            kind.versions().iter().map(|version| version.group_version.group.to_string()).collect();
        groups.sort();
        groups.dedup();
        let plural = &kind.names().plural;
        let offered: Vec<_> = verbs.iter().filter(|verb| offers(kind, verb)).collect();
        if !offered.is_empty() {
            rules.push(json!({"apiGroups": groups, "resources": [plural], "verbs": offered}));
        }
        if kind.has_status() {
            rules.push(json!({"apiGroups": groups, "resources": [format!("{plural}/status")], "verbs": ["get"]}));
        }
    }
    rules
}

fn offers(kind: &Kind, verb: &str) -> bool {
    let Some(maker) = kind.maker() else {
        return verb != "deletecollection" || kind.allows_delete_collection();
    };
    maker.verbs().iter().any(|offered| match offered {
        VirtualVerb::Create => verb == "create",
        VirtualVerb::Get => verb == "get",
        VirtualVerb::List => verb == "list",
    })
}
