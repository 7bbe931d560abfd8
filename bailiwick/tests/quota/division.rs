//! An owner divides what was allotted among projects.

use http::Method;
use serde_json::{Value, json};

use crate::client::{JSON_PATCH, MERGE_PATCH};
use crate::estate::{API, Estate, quota, quotas, text};
use crate::site::causes;

/// QUOTA-1, QUOTA-2, QUOTA-3, QUOTA-9, QUOTA-10, QUOTA-15, QUOTA-16, D-QUOTA-6: ten CPUs, six here and four there; a fifth is
/// too many, and the answer says why. The status says so as soon as the write returns.
#[tokio::test]
async fn an_owner_divides_what_was_allotted() {
    let estate = Estate::of_alice().await;
    estate.create("one", "default", &json!({ "cpu": "6" })).await.expect(201);
    assert_eq!(estate.used("alice", "cpu").await, "6");
    let refused = estate.create("two", "default", &json!({ "cpu": "5" })).await.expect(403);
    let message = text(&refused["message"]);
    for part in ["\"alice\"", "requested: 5", "other projects: 6", "limit: 10", "can have 4"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let [(field, why)] = &causes(&refused)[..] else { panic!("{refused}") };
    assert!(field == "spec.hard[cpu]" && why.contains("limit: 10"), "{refused}");
    assert_eq!(refused["details"]["causes"][0]["reason"], "AllocationExceeded");
    estate.create("two", "default", &json!({ "cpu": "4" })).await.expect(201);
    estate.create("three", "default", &json!({ "requests.cpu": "1m" })).await.expect(403);
    let status = estate.allocation("alice").await["status"].clone();
    assert_eq!(status["allocated"], json!({ "hard": { "cpu": "10" }, "used": { "cpu": "10" } }));
    let rows = status["usedByProject"].as_array().unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (text(&row["namespace"]), text(&row["used"]["cpu"]))).collect();
    let expected = [("one", "6"), ("two", "4"), ("three", "0")];
    assert_eq!(shown, expected.map(|(name, used)| (name.to_owned(), used.to_owned())));
    assert_eq!((&rows[0]["quotas"][0]["name"], &status["projectCount"]), (&json!("default"), &json!(3)));
    assert_eq!(rows[0]["quotas"][0]["specHash"].as_str().unwrap().len(), 32);
}

/// QUOTA-5, QUOTA-11, SRV-4: whatever way a quota is written by, and a dry run reserves nothing.
#[tokio::test]
async fn there_is_no_way_around() {
    let estate = Estate::of_alice().await;
    let path = format!("{}/default", quotas("one"));
    estate.create("one", "default", &json!({ "cpu": "2" })).await.expect(201);
    estate.create("two", "default", &json!({ "cpu": "5" })).await.expect(201);
    let root = &estate.root;
    let six = json!({ "spec": { "hard": { "cpu": "6" } } });
    let replace = json!([{ "op": "replace", "path": "/spec/hard/cpu", "value": "6" }]);
    let strategic = "application/strategic-merge-patch+json";
    let apply = "application/apply-patch+yaml";
    estate.set("one", "default", &json!({ "cpu": "6" })).await.expect(403);
    root.send(Method::PATCH, &path, MERGE_PATCH, Some(&six)).await.expect(403);
    root.send(Method::PATCH, &path, JSON_PATCH, Some(&replace)).await.expect(403);
    root.send(Method::PATCH, &path, strategic, Some(&six)).await.expect(403);
    let applied = format!("{path}?fieldManager=a&force=true");
    root.send(Method::PATCH, &applied, apply, Some(&quota("default", &json!({ "cpu": "6" })))).await.expect(403);
    let made = format!("{}/second?fieldManager=a", quotas("one"));
    root.send(Method::PATCH, &made, apply, Some(&quota("second", &json!({ "cpu": "6" })))).await.expect(403);
    for _ in 0..3 {
        let dry = format!("{path}?dryRun=All");
        root.send(Method::PATCH, &dry, MERGE_PATCH, Some(&json!({ "spec": { "hard": { "cpu": "5" } } })))
            .await
            .expect(200);
        root.send(Method::PATCH, &dry, MERGE_PATCH, Some(&six)).await.expect(403);
    }
    assert_eq!(estate.local("one", "alice").await["usedHere"]["cpu"], "2");
    estate.set("one", "default", &json!({ "cpu": "5" })).await.expect(200);
    assert_eq!(estate.used("alice", "cpu").await, "10");
}

/// QUOTA-6: of two allocations the one that leaves less decides, and is named.
#[tokio::test]
async fn the_most_restrictive_allocation_wins() {
    let estate = Estate::of_alice().await;
    estate.allot("web", &json!({ "matchLabels": { "tier": "web" } }), &json!({ "cpu": "6" })).await;
    estate.project("shop", &json!({ "owner": "alice", "tier": "web" })).await;
    let refused = estate.create("shop", "default", &json!({ "cpu": "7" })).await.expect(403);
    let told = causes(&refused);
    assert!(told.len() == 1 && told[0].1.contains("\"web\""), "{refused}");
    let refused = estate.create("shop", "default", &json!({ "cpu": "11" })).await.expect(403);
    let told = causes(&refused);
    assert!(told.len() == 2 && told[0].1.contains("\"web\"") && told[1].1.contains("\"alice\""), "{refused}");
    estate.create("shop", "default", &json!({ "cpu": "6" })).await.expect(201);
    assert_eq!((estate.used("web", "cpu").await, estate.used("alice", "cpu").await), ("6".into(), "6".into()));
}

/// QUOTA-4, QUOTA-7, QUOTA-8, QUOTA-12, QUOTA-18, B-QUOTA-12: both forms of selectors, several quotas in a project, resources
/// of all kinds, scopes.
#[tokio::test]
async fn quotas_of_a_project_count_together() {
    let estate = Estate::open().await;
    let selector = json!({ "matchExpressions": [{ "key": "team", "operator": "In", "values": ["a", "b"] }] });
    let hard = json!({ "requests.cpu": "4", "memory": "4Gi", "count/deployments.apps": "5", "pods": 10 });
    let made = estate.allot("teams", &selector, &hard).await;
    assert_eq!((&made["kind"], &made["spec"]["selector"]), (&json!("ResourceQuotaAllocation"), &selector));
    let mut scoped = crate::estate::allocation("long", &selector, &json!({ "pods": "3" }));
    scoped["spec"]["allocation"]["scopes"] = json!(["NotTerminating"]);
    estate.root.post(&format!("{API}/resourcequotaallocations"), &scoped).await.expect(201);
    for (name, team) in [("a1", "a"), ("b1", "b"), ("c1", "c")] {
        estate.project(name, &json!({ "team": team })).await;
    }
    estate.create("a1", "cpu", &json!({ "cpu": "3" })).await.expect(201);
    estate.create("a1", "memory", &json!({ "requests.memory": "3Gi", "count/deployments.apps": 3 })).await.expect(201);
    // The larger one of two with the same scopes counts, not the sum.
    estate.create("a1", "more", &json!({ "cpu": "2" })).await.expect(201);
    estate.create("b1", "default", &json!({ "cpu": "2", "memory": "1Gi" })).await.expect(403);
    estate
        .create("b1", "default", &json!({ "cpu": "1", "memory": "1Gi", "count/deployments.apps": "2" }))
        .await
        .expect(201);
    estate.create("c1", "default", &json!({ "cpu": "100" })).await.expect(201);
    let mut pods = quota("long", &json!({ "pods": "3" }));
    pods["spec"]["scopes"] = json!(["NotTerminating"]);
    estate.root.post(&quotas("a1"), &pods).await.expect(201);
    estate.root.post(&quotas("b1"), &pods).await.expect(403);
    estate.create("b1", "pods", &json!({ "pods": "7" })).await.expect(201);
    estate.create("a1", "pods", &json!({ "pods": "1" })).await.expect(403);
    let used = estate.allocation("teams").await["status"]["allocated"]["used"].clone();
    assert_eq!(used, json!({ "requests.cpu": "4", "memory": "4Gi", "count/deployments.apps": "5", "pods": "10" }));
    assert_eq!(estate.used("long", "pods").await, "3");
}

/// QUOTA-19, D-QUOTA-7, D-QUOTA-8: an allocation can be lowered below what is used, and less is always allowed.
#[tokio::test]
async fn less_is_always_allowed() {
    let estate = Estate::of_alice().await;
    estate.create("one", "default", &json!({ "cpu": "6", "memory": "1Gi" })).await.expect(201);
    estate.create("two", "default", &json!({ "cpu": "4" })).await.expect(201);
    let path = format!("{API}/resourcequotaallocations/alice");
    estate.root.merge(&path, &json!({ "spec": { "allocation": { "hard": { "cpu": "3" } } } })).await.expect(200);
    let told = estate.condition_becomes("alice", "OverAllocated", "True").await;
    assert_eq!(told, "cpu: 10 of 3");
    estate.set("one", "default", &json!({ "cpu": "5", "memory": "9Gi" })).await.expect(200);
    estate.set("one", "default", &json!({ "cpu": "6" })).await.expect(403);
    estate.set("one", "default", &json!({ "cpu": "0" })).await.expect(200);
    estate.set("two", "default", &json!({ "cpu": "3" })).await.expect(200);
    estate.condition_becomes("alice", "OverAllocated", "False").await;
    assert_eq!(estate.local("one", "alice").await["remaining"]["cpu"], "0");
}

/// D-QUOTA-2, B-QUOTA-1: a quota cannot be emptied by those who do not decide about the allocation, and what is in use stays
/// charged when a quota shrinks.
#[tokio::test]
async fn nothing_is_uncapped_by_leaving_it_out() {
    let estate = Estate::of_alice().await;
    let hard = json!({ "cpu": "5", "configmaps": "4" });
    let selector = json!({ "matchLabels": { "owner": "alice" } });
    estate.allot("maps", &selector, &json!({ "configmaps": "5" })).await;
    estate.create("one", "default", &hard).await.expect(201);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "owner" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "project-owner" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings";
    estate.root.post(bindings, &binding).await.expect(201);
    let path = format!("{}/default", quotas("one"));
    let alice = estate.site.user("alice");
    let refused = alice.put(&path, &quota("default", &json!({ "configmaps": "4" }))).await.expect(403);
    assert_eq!(refused["details"]["causes"][0]["reason"], "AllocationUncovered", "{refused}");
    alice.put(&path, &quota("default", &json!({}))).await.expect(403);
    // Three config maps are there, one of them the authority's.
    for name in ["a", "b"] {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        estate.root.post("/api/v1/namespaces/one/configmaps", &map).await.expect(201);
    }
    let used = || async {
        let found = estate.root.get(&path).await.expect(200);
        (found["status"]["used"]["configmaps"] == "3").then_some(())
    };
    crate::estate::until(used, || "nobody counts config maps".to_owned()).await;
    alice.put(&path, &quota("default", &json!({ "cpu": "5", "configmaps": "1" }))).await.expect(200);
    assert_eq!(estate.used("maps", "configmaps").await, "3");
    estate.create("two", "default", &json!({ "configmaps": "3" })).await.expect(403);
    estate.create("two", "default", &json!({ "configmaps": "2" })).await.expect(201);
    // Who decides about the allocation decides about this.
    estate.set("one", "default", &json!({ "configmaps": "1" })).await.expect(200);
    let told = estate.condition_becomes("alice", "Uncovered", "True").await;
    assert!(told.contains("one"), "{told}");
}

/// M-QUOTA-8, SRV-7: what cannot be meant is refused, what can be is taken as Kubernetes takes it.
#[tokio::test]
async fn odd_amounts_are_taken_as_kubernetes_takes_them() {
    let estate = Estate::of_alice().await;
    let refuse = async |hard: Value| {
        let object = crate::estate::allocation("bad", &json!({}), &hard);
        estate.root.post(&format!("{API}/resourcequotaallocations"), &object).await.expect(422)
    };
    for hard in
        [json!({ "cpu": "-1" }), json!({ "pods": "0.5" }), json!({ "bananas": 1 }), json!({}), json!({ "cpu": "x" })]
    {
        refuse(hard).await;
    }
    estate.create("one", "default", &json!({ "cpu": "1e30" })).await.expect(403);
    estate.create("one", "default", &json!({ "cpu": "10.0000000001" })).await.expect(403);
    estate.create("one", "default", &json!({ "cpu": "0.0099999k" })).await.expect(201);
    estate.create("two", "default", &json!({ "cpu": "1e-4" })).await.expect(201);
    estate.create("three", "default", &json!({ "cpu": "1n" })).await.expect(403);
    assert_eq!(estate.used("alice", "cpu").await, "10");
}
