//! What groups and bindings say of themselves.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::site::{API, Mode, Person, Site, binding, eventually, org_group};

in_both_modes!(
    a_group_says_who_has_nothing_by_it,
    a_binding_says_what_it_comes_to,
    what_others_say_in_a_status_does_not_last,
);

const GROUP: &str = "/apis/org.bailiwick.dev/v1alpha1/orggroups/Acme:dev";
const BINDING: &str = "/apis/org.bailiwick.dev/v1alpha1/namespaces/acme-web/orgrolebindings/dev";
/// By then a change is told.
const SOON: Duration = crate::process::PATIENCE;

/// With a group of Acme in which bob and carol are, bound in its project.
async fn with_binding(site: &Site) {
    site.furnish().await;
    let groups = format!("{API}/organizations/Acme/groups");
    site.user("alice").post(&groups, &org_group("Acme:dev", &["bob", "carol"])).await.expect(201);
    let bindings = format!("{API}/namespaces/acme-web/orgrolebindings");
    site.root().post(&bindings, &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
}

/// Waits until an object says that it is effective, or not, for this reason. Gives it.
pub(crate) async fn says(who: &Person, path: &str, status: &str, reason: &str) -> Value {
    let began = Instant::now();
    loop {
        let object = who.get(path).await.expect(200);
        let condition = &object["status"]["conditions"][0];
        if (&condition["type"], &condition["status"], &condition["reason"])
            == (&json!("Effective"), &json!(status), &json!(reason))
            && condition["observedGeneration"] == object["metadata"]["generation"]
        {
            return object;
        }
        assert!(began.elapsed() < SOON, "not {status} for {reason}: {object}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// D-ORG-6: a group names those in it who are no members any more, however they ceased to be.
async fn a_group_says_who_has_nothing_by_it(site: Site) {
    with_binding(&site).await;
    let root = site.root();
    let group = says(&root, GROUP, "True", "AllMembers").await;
    assert_eq!(group["status"]["nonMembers"], json!(null));
    root.merge(&format!("{API}/groups/engineers"), &json!({ "users": [] })).await.expect(200);
    let group = says(&root, GROUP, "False", "NonMembers").await;
    assert_eq!(group["status"]["nonMembers"], json!(["carol"]));
    let message = group["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("\"Acme\"") && message.contains("carol") && message.contains("remove them"), "{message}");
    // Its name is none that an event can have.
    eventually("an event tells of it", async || {
        let list = root.get("/apis/events.k8s.io/v1/namespaces/default/events").await.expect(200);
        let is_it = |event: &Value| event["reason"] == "NonMembers" && event["regarding"]["name"] == "Acme:dev";
        list["items"].as_array().unwrap().iter().any(is_it)
    })
    .await;
    root.merge(&format!("{API}/organizations/Acme"), &json!({ "memberUsers": ["carol"] })).await.expect(200);
    let began = Instant::now();
    while root.get(GROUP).await.expect(200)["status"]["nonMembers"] != json!(["bob"]) {
        assert!(began.elapsed() < SOON);
        sleep(Duration::from_millis(20)).await;
    }
    site.user("alice").merge(GROUP, &json!({ "users": ["carol"] })).await.expect(200);
    let group = says(&root, GROUP, "True", "AllMembers").await;
    // What is said already is not said again.
    sleep(Duration::from_millis(300)).await;
    assert_eq!(root.get(GROUP).await.expect(200)["metadata"]["resourceVersion"], group["metadata"]["resourceVersion"]);
}

/// A binding says whether it comes to something, and what to do if not.
async fn a_binding_says_what_it_comes_to(site: Site) {
    with_binding(&site).await;
    let root = site.root();
    let bound = says(&root, BINDING, "True", "InEffect").await;
    // A server that stands alone needs none.
    let names = match site.mode {
        Mode::Alone => Value::Null,
        Mode::Behind => json!(["org-role-binding:dev"]),
    };
    assert_eq!(bound["status"]["roleBindings"], names);
    let owner = async |value: Value| {
        let patch = json!({ "metadata": { "labels": { "openshift.io/owner": value } } });
        root.merge("/api/v1/namespaces/acme-web", &patch).await.expect(200);
    };
    owner(json!("organizations__Beta")).await;
    let moved = says(&root, BINDING, "False", "OtherOwner").await;
    let message = moved["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("\"Beta\"") && message.contains("Acme:dev") && message.contains("remove them"),
        "{message}"
    );
    owner(json!(null)).await;
    let unowned = says(&root, BINDING, "False", "NoOwner").await;
    assert_eq!(
        unowned["status"]["conditions"][0]["lastTransitionTime"],
        moved["status"]["conditions"][0]["lastTransitionTime"],
        "it is not effective since then"
    );
    let events = "/apis/events.k8s.io/v1/namespaces/acme-web/events";
    let began = Instant::now();
    let reasons = loop {
        let list = root.get(events).await.expect(200);
        let reasons: Vec<String> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["reason"].as_str().unwrap().to_owned())
            .collect();
        if reasons.len() > 1 || began.elapsed() > SOON {
            break reasons;
        }
        sleep(Duration::from_millis(20)).await;
    };
    assert!(reasons.contains(&"OtherOwner".to_owned()) && reasons.contains(&"NoOwner".to_owned()), "{reasons:?}");
    owner(json!("organizations__Acme")).await;
    says(&root, BINDING, "True", "InEffect").await;
    root.delete(GROUP).await.expect(200);
    says(&root, BINDING, "True", "GroupsMissing").await;
}

/// S-16, O-10: a status is what follows from the objects, whoever writes something else into it, and nothing follows from it.
async fn what_others_say_in_a_status_does_not_last(site: Site) {
    with_binding(&site).await;
    let root = site.root();
    says(&root, GROUP, "True", "AllMembers").await;
    says(&root, BINDING, "True", "InEffect").await;
    let forged = json!({ "status": { "nonMembers": ["bob"], "conditions": null } });
    root.merge(&format!("{GROUP}/status"), &forged).await.expect(200);
    let condition = json!({
        "type": "Effective", "status": "False", "reason": "NoOwner", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    });
    let forged = json!({ "status": { "roleBindings": ["cluster-admin"], "conditions": [condition] } });
    root.merge(&format!("{BINDING}/status"), &forged).await.expect(200);
    site.user("bob").may("create", "configmaps", "acme-web").await;
    says(&root, BINDING, "True", "InEffect").await;
    says(&root, GROUP, "True", "AllMembers").await;
    eventually("the status is what it was", async || {
        root.get(GROUP).await.expect(200)["status"]["nonMembers"].is_null()
            && !root.get(BINDING).await.text().contains("cluster-admin")
    })
    .await;
    // With the object itself it cannot be written at all.
    let seen = root.get(GROUP).await.expect(200);
    let kept = root.merge(GROUP, &json!({ "status": { "nonMembers": ["bob"] } })).await.expect(200);
    assert_eq!(kept["status"], seen["status"]);
}
