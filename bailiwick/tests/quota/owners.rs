//! Who owns a project may divide, and no more.

use serde_json::json;

use crate::estate::{API, Estate, quota, quotas};

async fn bind(estate: &Estate, namespace: &str, role: &str, user: &str) {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings");
    estate.root.post(&path, &binding).await.expect(201);
}

/// QUOTA-25, QUOTA-26, QUOTA-27, QUOTA-28, D-QUOTA-5, D-QUOTA-10: what administrators may, and change quotas of some names.
#[tokio::test]
async fn an_owner_changes_some_quotas_and_no_others() {
    let estate = Estate::of_alice().await;
    bind(&estate, "one", "project-owner", "alice").await;
    bind(&estate, "one", "admin", "adam").await;
    let special = ["default", "terminating", "not-terminating", "best-effort", "not-best-effort"];
    let spelled = ["notterminating", "besteffort", "notbesteffort"];
    for name in special.iter().chain(&spelled).chain(&["lockdown"]) {
        estate.create("one", name, &json!({ "cpu": "1" })).await.expect(201);
    }
    let (alice, adam) = (estate.site.user("alice"), estate.site.user("adam"));
    let at = |name: &str| format!("{}/{name}", quotas("one"));
    for name in special.iter().chain(&spelled) {
        alice.put(&at(name), &quota(name, &json!({ "cpu": "2" }))).await.expect(200);
        alice.merge(&at(name), &json!({ "spec": { "hard": { "cpu": "3" } } })).await.expect(200);
        alice.delete(&at(name)).await.expect(403);
        adam.merge(&at(name), &json!({ "spec": { "hard": { "cpu": "3" } } })).await.expect(403);
    }
    alice.merge(&at("lockdown"), &json!({ "spec": { "hard": { "cpu": "3" } } })).await.expect(403);
    alice.delete(&at("lockdown")).await.expect(403);
    alice.delete(&quotas("one")).await.expect(403);
    alice.post(&quotas("one"), &quota("more", &json!({ "cpu": "1" }))).await.expect(403);
    alice.merge(&format!("{}/default", quotas("two")), &json!({})).await.expect(403);
    alice.merge(&at("default"), &json!({ "spec": { "hard": { "cpu": "11" } } })).await.expect(403);
    // What administrators may.
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    alice.post("/api/v1/namespaces/one/configmaps", &map).await.expect(201);
    assert!(alice.can("create", "secrets", "one").await && !alice.can("create", "secrets", "two").await);
    // The allocations themselves are the cluster's.
    alice.get(&format!("{API}/resourcequotaallocations/alice")).await.expect(403);
    let more = json!({ "spec": { "allocation": { "hard": { "cpu": "99" } } } });
    alice.merge(&format!("{API}/resourcequotaallocations/alice"), &more).await.expect(403);
    alice.get(&format!("{API}/resourcequotaallocations/alice/projects")).await.expect(403);
}

/// QUOTA-30, QUOTA-31, D-QUOTA-12: whoever may view a project sees the allocations that apply to it, and writes none.
#[tokio::test]
async fn a_project_is_told_of_its_allocations() {
    let estate = Estate::of_alice().await;
    estate.allot("others", &json!({ "matchLabels": { "owner": "bob" } }), &json!({ "cpu": "1" })).await;
    estate.create("two", "default", &json!({ "cpu": "7" })).await.expect(201);
    bind(&estate, "one", "view", "vera").await;
    let vera = estate.site.user("vera");
    let path = format!("{API}/namespaces/one/localresourcequotaallocations");
    let all = vera.get(&path).await.expect(200);
    let names: Vec<_> = all["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["alice"]);
    assert_ne!(all["metadata"]["resourceVersion"], json!(null));
    let one = vera.get(&format!("{path}/alice")).await.expect(200);
    let cpu = |field: &str| one[field]["cpu"].clone();
    assert_eq!(
        (cpu("hard"), cpu("used"), cpu("usedHere"), cpu("remaining")),
        ("10".into(), "7".into(), "0".into(), "3".into())
    );
    vera.get(&format!("{path}/others")).await.expect(404);
    vera.get(&format!("{API}/namespaces/two/localresourcequotaallocations")).await.expect(403);
    vera.delete(&format!("{path}/alice")).await.expect(403);
    for answer in [
        estate.root.post(&path, &one).await,
        estate.root.put(&format!("{path}/alice"), &one).await,
        estate.root.merge(&format!("{path}/alice"), &json!({})).await,
        estate.root.delete(&format!("{path}/alice")).await,
        estate.root.get(&format!("{API}/localresourcequotaallocations?watch=true")).await,
    ] {
        assert_eq!(answer.code, 405, "{}", answer.text());
    }
    let everywhere = estate.root.get(&format!("{API}/localresourcequotaallocations")).await.expect(200);
    assert_eq!(everywhere["items"].as_array().unwrap().len(), 3);
}
