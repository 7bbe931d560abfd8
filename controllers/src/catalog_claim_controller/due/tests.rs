use std::sync::Arc;

use bailiwick_api::{ResourceCatalog, ResourceCatalogEntry};
use serde_json::{Value, json};

use super::*;

fn claim(spec: Value, status: Value) -> ResourceCatalogClaim {
    let mut whole = json!({
        "catalogName": "tools", "resourceCatalogEntry": { "namespace": "shop", "name": "hammer", "uid": "e1" },
    });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let metadata = json!({ "name": "mine", "namespace": "here", "generation": 2 });
    serde_json::from_value(json!({ "metadata": metadata, "spec": whole, "status": status })).unwrap()
}

fn state(status: Value) -> State {
    let entry = json!({
        "metadata": { "name": "hammer", "namespace": "shop", "uid": "e1", "generation": 3, "labels": { "tier": "gold" } },
        "spec": {}, "status": { "catalogs": ["tools"], "generation": 3 },
    });
    let catalog = json!({ "metadata": { "name": "tools" }, "spec": { "selector": { "tier": "gold" } } });
    State {
        claim: Arc::new(claim(json!({}), status)),
        entry: Some(Arc::new(serde_json::from_value::<ResourceCatalogEntry>(entry).unwrap())),
        catalog: Some(Arc::new(serde_json::from_value::<ResourceCatalog>(catalog).unwrap())),
        account_uid: Some("a1".to_owned()),
        publishing_account: None,
        namespace: Some(Arc::default()),
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, Obstacle>) -> &'static str {
    result.unwrap_err().reason
}

/// CAT-5, CAT-56, CAT-60, CAT-64
#[test]
fn what_is_due_follows_from_the_claim_alone() {
    let realized = json!({ "entryGeneration": 1, "generation": 1 });
    for (spec, status, expected) in [
        (json!({}), json!({}), Some(Due::Missing)),
        (json!({ "generation": 1 }), realized.clone(), None),
        (json!({ "generation": 2 }), realized.clone(), Some(Due::Everything)),
        (json!({ "generation": 1, "keepSynchronized": true }), realized.clone(), Some(Due::Everything)),
        (
            json!({ "generation": 1 }),
            json!({ "entryGeneration": 1, "generation": 1, "errors": [{ "name": "x" }] }),
            Some(Due::Missing),
        ),
        (
            json!({ "generation": 1 }),
            json!({ "entryGeneration": 1, "generation": 1, "pendingResources": [{ "name": "x" }] }),
            Some(Due::Missing),
        ),
    ] {
        assert_eq!(of(&claim(spec.clone(), status.clone())), expected, "{spec} {status}");
    }
}

/// CAT-5, CAT-64: what failed of a kick is still to be done, and what failed of following only for as long as that is to be.
#[test]
fn what_failed_is_owed_to_those_who_wanted_it() {
    let errors = json!([{ "name": "x" }]);
    let synced = json!([{ "type": "Synced", "status": "False", "reason": "SourceGone", "message": "", "lastTransitionTime": "" }]);
    for (status, expected) in [
        (json!({}), 0),
        (json!({ "errors": errors, "observedGeneration": 2 }), 1),
        // Something else of it has changed since.
        (json!({ "errors": errors, "observedGeneration": 1 }), 1),
        // It was in the way that a right was lost.
        (json!({ "errors": errors, "observedGeneration": 2, "conditions": synced }), 1),
        // It followed then.
        (json!({ "errors": errors, "observedGeneration": 1, "conditions": synced }), 0),
    ] {
        assert_eq!(owed(&claim(json!({}), status.clone())).len(), expected, "{status}");
    }
}

/// CAT-57: an account that is not there, and one that is another, are not acted as.
#[test]
fn an_account_is_the_one_that_was_named() {
    assert_eq!(account(&state(json!({}))).unwrap().username(), "system:serviceaccount:here:default");
    assert_eq!(reason(account(&State { account_uid: None, ..state(json!({})) })), "ActAsUnresolved");
    let pinned = json!({ "observedGeneration": 2, "serviceAccount": { "name": "default", "uid": "old" } });
    assert_eq!(reason(account(&state(pinned))), "ActAsReplaced");
    // The claim has been written again since.
    let pinned = json!({ "observedGeneration": 1, "serviceAccount": { "name": "default", "uid": "old" } });
    assert!(account(&state(pinned.clone())).is_ok());
    // It has not been: it is to go, which nobody says by writing it.
    let going = |status: Value| {
        let state = state(status);
        let mut claim = (*state.claim).clone();
        claim.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        State { claim: Arc::new(claim), ..state }
    };
    assert_eq!(reason(account(&going(pinned))), "ActAsReplaced");
    let written = json!({ "observedGeneration": 0, "serviceAccount": { "name": "default", "uid": "old" } });
    assert!(account(&going(written)).is_ok());
}

/// CAT-20, CAT-52
#[test]
fn an_entry_is_the_one_that_was_claimed_and_accepted() {
    assert_eq!(exposed(&state(json!({}))), Ok(true));
    let with_entry = |change: fn(&mut ResourceCatalogEntry)| {
        let state = state(json!({}));
        let mut entry = state.entry.as_deref().unwrap().clone();
        change(&mut entry);
        State { entry: Some(Arc::new(entry)), ..state }
    };
    assert_eq!(exposed(&with_entry(|entry| entry.metadata.generation = Some(4))), Ok(false));
    assert_eq!(reason(exposed(&State { entry: None, ..state(json!({})) })), "SourceGone");
    assert_eq!(reason(exposed(&with_entry(|entry| entry.metadata.uid = Some("e2".to_owned())))), "SourceGone");
    assert_eq!(reason(exposed(&with_entry(|entry| entry.metadata.labels = None))), "NotAllowed");
    assert_eq!(reason(exposed(&with_entry(|entry| entry.status = None))), "NotAllowed");
    assert_eq!(reason(exposed(&State { catalog: None, ..state(json!({})) })), "NotAllowed");
}
