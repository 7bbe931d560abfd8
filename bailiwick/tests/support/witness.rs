//! What an audit log bears witness of: as whom things were done.

use std::collections::BTreeSet;

use serde_json::Value;

use super::site::{Site, eventually};

/// What the server is to a cluster.
const SERVER: &str = "system:serviceaccount:bailiwick-system:bailiwick";
/// What its controllers and rules are to it, where it is its own host.
const PARTS: &str = "system:serviceaccount:kube-system:";
/// Those of them that are Kubernetes' own, and act on everyone's objects by what these say.
const KUBERNETES: [&str; 4] =
    ["generic-garbage-collector", "namespace-controller", "root-ca-cert-publisher", "service-account-controller"];
/// What the server writes under its own name.
const BOOKKEEPING: [&str; 8] = [
    "apiservices",
    "customresourcedefinitions",
    "events",
    "leases",
    "selfsubjectreviews",
    "subjectaccessreviews",
    "subjectrulesreviews",
    "tokenreviews",
];
/// What it reads under its own name.
const LOOKED_UP: [&str; 9] = [
    "apiservices",
    "clusterrolebindings",
    "clusterroles",
    "customresourcedefinitions",
    "namespaces",
    "resourcequotas",
    "rolebindings",
    "roles",
    "serviceaccounts",
];

/// Something that was done: by whom in the end, and to what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deed {
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

// === impl Deed ===

impl Deed {
    fn of(event: &Value) -> Self {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let acting = text("/impersonatedUser/username");
        Self {
            user: if acting.is_empty() { text("/user/username") } else { acting },
            verb: text("/verb"),
            resource: text("/objectRef/resource"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
        }
    }
}

// === impl Site ===

impl Site {
    /// I3: an account of its namespace has made this object, of a namespace, of this plural and name. It may have been made just
    /// now, and the log is written a moment later: then what was done is read anew.
    pub(crate) async fn made_by_an_account(&self, deeds: &mut BTreeSet<Deed>, object: (&str, &str, &str)) {
        eventually(&format!("someone who made {object:?}"), async || {
            if !is_made_by_an_account(deeds, object) {
                *deeds = nothing_was_done_as_ourselves(&self.asked_of_host());
            }
            is_made_by_an_account(deeds, object)
        })
        .await;
    }

    /// I4: nothing that is at these paths tells one of these texts, nor does what is written down about requests.
    pub(crate) async fn tells_nothing(&self, paths: &[String], canaries: &[&str]) {
        let mut texts = Vec::new();
        for path in paths {
            texts.push((path.clone(), self.root().get(path).await.expect(200).to_string()));
        }
        texts.push(("the host's audit log".to_owned(), Value::Array(self.asked_of_host()).to_string()));
        texts.push(("the server's audit log".to_owned(), self.own_log()));
        if let Some(past) = self.ways().await.last() {
            texts.push(("the server's metrics".to_owned(), past.get("/metrics").await.text()));
        }
        for (place, text) in texts {
            assert!(canaries.iter().all(|canary| !text.contains(canary)), "{place} tells a secret");
        }
    }
}

/// Whether an account of the namespace has made an object there.
fn is_made_by_an_account(deeds: &BTreeSet<Deed>, (namespace, plural, name): (&str, &str, &str)) -> bool {
    let account = format!("system:serviceaccount:{namespace}:");
    deeds.iter().any(|deed| {
        deed.user.starts_with(&account)
            && matches!(&*deed.verb, "create" | "patch")
            && (&*deed.resource, &*deed.namespace, &*deed.name) == (plural, namespace, name)
    })
}

/// I2: of what the server did under its own name, nothing is an object that follows from a user's. Gives everything else that
/// was done.
pub(crate) fn nothing_was_done_as_ourselves(events: &[Value]) -> BTreeSet<Deed> {
    let mut others = BTreeSet::new();
    for event in events {
        let deed = Deed::of(event);
        let refused = event["responseStatus"]["message"].as_str().unwrap_or_default();
        // Whoever is not let act as someone else is logged as themselves, and has done nothing.
        if refused.contains("\" cannot impersonate") || deed.resource.is_empty() {
            continue;
        }
        if !is_ours(&deed.user) {
            if event["responseStatus"]["code"].as_i64().is_some_and(|code| code < 400) {
                others.insert(deed);
            }
            continue;
        }
        let group = event["objectRef"]["apiGroup"].as_str().unwrap_or_default();
        let reads = matches!(deed.verb.as_str(), "get" | "list" | "watch");
        let is_allowed = group.ends_with(".bailiwick.dev")
            || BOOKKEEPING.contains(&deed.resource.as_str())
            || (reads && LOOKED_UP.contains(&deed.resource.as_str()))
            // Its own authority, and what it believes of clients.
            || (deed.namespace == "bailiwick-system" && deed.resource == "secrets")
            || (deed.namespace == "kube-system" && deed.resource == "configmaps" && reads);
        assert!(is_allowed, "the server did it as itself: {event}");
    }
    others
}

fn is_ours(user: &str) -> bool {
    user == SERVER || user.strip_prefix(PARTS).is_some_and(|name| !KUBERNETES.contains(&name))
}
