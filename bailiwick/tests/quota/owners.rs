//! Who owns a project may divide, and no more.

use serde_json::json;

use crate::estate::{API, Estate, bind, items, quota, quotas, until};

in_both_modes!(
    an_owner_changes_some_quotas_and_no_others,
    a_project_is_told_of_its_allocations,
    organizations_own_projects
);

/// QUOTA-25, QUOTA-26, QUOTA-27, QUOTA-28, QUOTA-29, M-QUOTA-6, D-QUOTA-5,
/// D-QUOTA-10, Q-07: what administrators may, and change quotas of some names. What a quota is labelled gives nobody anything;
/// whoever is to change another one is given that by its name.
async fn an_owner_changes_some_quotas_and_no_others(estate: Estate) {
    let estate = estate.of_alice().await;
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
    // Neither a label that a quota has, nor one that an owner gives to it, makes it theirs; a rule of its name does.
    let labels = json!({ "metadata": { "labels": { "owner": "alice" } } });
    estate.root.merge(&at("lockdown"), &labels).await.expect(200);
    alice.merge(&at("lockdown"), &json!({ "spec": { "hard": { "cpu": "3" } } })).await.expect(403);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "more" },
        "rules": [{ "apiGroups": [""], "resources": ["resourcequotas"], "resourceNames": ["lockdown"], "verbs": ["patch"] }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "more" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "more" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/one";
    estate.root.post(&format!("{rbac}/roles"), &role).await.expect(201);
    estate.root.post(&format!("{rbac}/rolebindings"), &binding).await.expect(201);
    let may = || async {
        let answer = alice.merge(&at("lockdown"), &json!({ "spec": { "hard": { "cpu": "2" } } })).await;
        (answer.code == 200).then_some(())
    };
    until(may, || "the rule gives nothing".to_owned()).await;
    alice.merge(&at("lockdown"), &json!({ "spec": { "hard": { "cpu": "11" } } })).await.expect(403);
    for path in ["rolebindings/more", "roles/more"] {
        estate.root.delete(&format!("{rbac}/{path}")).await.expect(200);
    }
    // What administrators may.
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a" } });
    alice.post("/api/v1/namespaces/one/configmaps", &map).await.expect(201);
    alice.may("create", "secrets", "one").await;
    alice.may_not("create", "secrets", "two").await;
    // The allocations themselves are the cluster's.
    alice.get(&format!("{API}/resourcequotaallocations/alice")).await.expect(403);
    let more = json!({ "spec": { "allocation": { "hard": { "cpu": "99" } } } });
    alice.merge(&format!("{API}/resourcequotaallocations/alice"), &more).await.expect(403);
    alice.get(&format!("{API}/resourcequotaallocations/alice/projects")).await.expect(403);
}

/// QUOTA-30, QUOTA-31, D-QUOTA-12: whoever may view a project sees the allocations that apply to it, and writes none.
async fn a_project_is_told_of_its_allocations(estate: Estate) {
    let estate = estate.of_alice().await;
    estate.allot("others", &json!({ "matchLabels": { "owner": "bob" } }), &json!({ "cpu": "1" })).await;
    estate.create("two", "default", &json!({ "cpu": "7" })).await.expect(201);
    bind(&estate, "one", "view", "vera").await;
    estate.catch_up("alice", "cpu", "7").await;
    estate.local("one", "alice").await;
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
    let everywhere = || async {
        let all = estate.root.get(&format!("{API}/localresourcequotaallocations")).await.expect(200);
        (items(&all).len() == 3).then_some(())
    };
    until(everywhere, || "not all projects are told".to_owned()).await;
}

/// QUOTA-33: who owns projects can be an organization as well as a person: an allocation selects by whatever label says so.
async fn organizations_own_projects(estate: Estate) {
    let people = json!({ "adminUsers": ["alice"], "memberUsers": ["bob"] });
    let organizations = format!("{}/organizations", crate::site::API);
    estate.root.post(&organizations, &crate::site::organization("Acme", people)).await.expect(201);
    for name in ["acme-web", "acme-db"] {
        estate.site.make_project(name, "organizations__Acme").await;
    }
    let selector = json!({ "matchLabels": { "openshift.io/owner": "organizations__Acme" } });
    estate.allot("acme", &selector, &json!({ "cpu": "10" })).await;
    estate.create("acme-web", "default", &json!({ "cpu": "6" })).await.expect(201);
    estate.create("acme-db", "default", &json!({ "cpu": "5" })).await.expect(403);
    estate.create("acme-db", "default", &json!({ "cpu": "4" })).await.expect(201);
    estate.used_is("acme", "cpu", "10").await;
    // The project goes to someone else, and its quota with it.
    estate.site.give("acme-web", serde_json::Value::Null).await;
    estate.used_becomes("acme", "cpu", "4").await;
}
