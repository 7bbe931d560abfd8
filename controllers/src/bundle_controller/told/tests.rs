use std::time::Duration;

use bailiwick_api::{BundleObject, BundleSpec, InventoryItem};
use serde_json::json;

use super::*;

/// B-SMITH-9: what a resource took to become ready is what passed since it was made, and is kept until it is made again.
#[test]
fn what_resources_took() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let spec: BundleSpec = serde_json::from_value(json!({"resources": [{"name": "a", "spec": object}]})).unwrap();
    let plan = Plan::of(&spec, "here").unwrap();
    let mut status = BundleStatus::default();
    let mut took = |phase: Phase, deed: Deed, at: u64| {
        let outcome = Outcome { deed, ..Outcome::new(phase, "", "") };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
        resources(&mut status, &plan, &[Some(outcome)], None, now);
        (status.resources[0].ready_after_seconds, status.critical_path.is_some())
    };
    assert_eq!(took(Phase::Blocked, Deed::Nothing, 5), (None, true));
    assert_eq!(took(Phase::InProgress, Deed::Created, 10), (None, true));
    assert_eq!(took(Phase::InProgress, Deed::Nothing, 20), (None, true));
    assert_eq!(took(Phase::Ready, Deed::Nothing, 40), (Some(30), false));
    assert_eq!(took(Phase::Blocked, Deed::Nothing, 50), (Some(30), true));
    assert_eq!(took(Phase::Ready, Deed::Nothing, 60), (Some(30), false), "nothing was done to it");
    assert_eq!(took(Phase::Error, Deed::Nothing, 70), (Some(30), true));
    assert_eq!(took(Phase::Ready, Deed::Nothing, 80), (Some(30), false));
    assert_eq!(took(Phase::Blocked, Deed::Nothing, 90), (Some(30), true));
    assert_eq!(took(Phase::Ready, Deed::Updated, 95), (Some(0), false), "it was ready at once");
}

/// However much is said of resources, the status stays as large as there was room for when the Bundle was written.
#[test]
fn a_status_has_room() {
    let object = |number: usize| json!({"apiVersion": "example.dev/v1", "kind": "Example", "metadata": {"name": format!("{number:0200}")}});
    for count in [1, 10, 200] {
        let wanted: Vec<_> = (0..count)
            .map(|number| {
                let before: Vec<String> = (0..number).map(|before| format!("r{before}")).collect();
                json!({"name": format!("r{number}"), "dependsOn": before, "spec": object(number)})
            })
            .collect();
        let spec: BundleSpec = serde_json::from_value(json!({ "resources": wanted })).unwrap();
        let plan = Plan::of(&spec, "here").unwrap();
        let of = |place: usize| {
            let named = plan.resources()[place].object().unwrap();
            let named = BundleObject { uid: "038b49a6-e746-11e6-baf3-ee8d75af8f6e".to_owned(), ..named };
            Some(Outcome::error("SecretTypeNotAllowed", "why ".repeat(10_000)).with(Some(named), None))
        };
        let outcomes: Vec<_> = (0..count).map(of).collect();
        let mut status = BundleStatus::default();
        resources(&mut status, &plan, &outcomes, Some(1), SystemTime::UNIX_EPOCH);
        let verdict = Verdict {
            condition: PRUNING_COMPLETE,
            status: ConditionStatus::False,
            reason: "Deleting",
            message: &"so much is still there ".repeat(10_000),
        };
        say(&mut status, verdict, Some(1), SystemTime::UNIX_EPOCH);
        status.inventory = (0..count)
            .map(|place| InventoryItem {
                resource: plan.resources()[place].name.clone(),
                object: status.resources[place].object.clone().unwrap(),
                depends_on: plan.dependencies(place).map(str::to_owned).collect(),
                ..InventoryItem::default()
            })
            .collect();
        let bytes = serde_json::to_vec(&status).unwrap().len();
        assert!(bytes < bailiwick_api::bundle::status_room(&spec), "{bytes} of {count} resources");
    }
}
