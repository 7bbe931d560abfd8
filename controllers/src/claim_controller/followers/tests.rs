use std::future::pending;

use bailiwick_api::claims::KindFacts;
use serde_json::json;

use super::*;

/// What someone finds who was stopped is not taken for what whoever follows the same kind by then has found.
#[tokio::test]
async fn who_was_stopped_is_not_who_follows() {
    let definition = json!({
        "spec": {
            "group": "p.example", "scope": "Cluster", "names": { "kind": "Server", "plural": "servers" },
            "versions": [{ "name": "v1", "served": true }],
        },
        "status": { "conditions": [{ "type": "Established", "status": "True" }] },
    });
    let facts = Arc::new(KindFacts::of(&definition).remove(0));
    let wanted = Wanted { facts, claims: false, classes: false, resources: true };
    let following = |number| Following { kind: Followed::of(&wanted.facts), wanted: wanted.clone(), number };
    let mut followers = Followers::default();
    let Following { kind, wanted, number } = following(2);
    followers.kinds.insert(kind, Follower { wanted, number, running: Running::start(pending()), trouble: None });
    assert!(followers.find(&following(1)).is_none() && followers.find(&following(2)).is_some());
}
