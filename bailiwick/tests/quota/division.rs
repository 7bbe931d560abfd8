//! An owner divides what was allotted among projects.

use http::Method;
use serde_json::{Value, json};

use crate::client::{JSON_PATCH, MERGE_PATCH};
use crate::estate::{API, Estate, bind, quota, quotas, text, until};
use crate::site::causes;

in_both_modes!(
    an_owner_divides_what_was_allotted,
    there_is_no_way_around,
    the_most_restrictive_allocation_wins,
    quotas_of_a_project_count_together,
    less_is_always_allowed,
    nothing_is_uncapped_by_leaving_it_out,
    odd_amounts_are_taken_as_kubernetes_takes_them,
);

/// QUOTA-1, QUOTA-2, QUOTA-3, QUOTA-9, QUOTA-10, QUOTA-15, QUOTA-16, D-QUOTA-6: ten CPUs, six here and four there; a fifth is
/// too many, and the answer says why. The status says so as soon as the write returns.
async fn an_owner_divides_what_was_allotted(estate: Estate) {
    let estate = estate.of_alice().await;
    estate.create("one", "default", &json!({ "cpu": "6" })).await.expect(201);
    estate.used_is("alice", "cpu", "6").await;
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
    estate.used_is("alice", "cpu", "10").await;
    let is_told = || async {
        let status = estate.allocation("alice").await["status"].clone();
        let rows = status["usedByProject"].as_array().cloned().unwrap_or_default();
        let is_whole = rows.len() == 3 && rows[..2].iter().all(|row| row["quotas"][0]["uid"].is_string());
        (is_whole || estate.is_at_once()).then_some(status)
    };
    let status = until(is_told, || "the projects are not told".to_owned()).await;
    assert_eq!(status["allocated"], json!({ "hard": { "cpu": "10" }, "used": { "cpu": "10" } }));
    let rows = status["usedByProject"].as_array().unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (text(&row["namespace"]), text(&row["used"]["cpu"]))).collect();
    let expected = [("one", "6"), ("two", "4"), ("three", "0")];
    assert_eq!(shown, expected.map(|(name, used)| (name.to_owned(), used.to_owned())));
    assert_eq!((&rows[0]["quotas"][0]["name"], &status["projectCount"]), (&json!("default"), &json!(3)));
    assert_eq!(rows[0]["quotas"][0]["specHash"].as_str().unwrap().len(), 32);
}

/// QUOTA-5, QUOTA-11, Q-03, SRV-4: whatever way a quota is written by, and a dry run reserves nothing.
async fn there_is_no_way_around(estate: Estate) {
    let estate = estate.of_alice().await;
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
    // What the status says is not asked for, and costs nothing.
    root.merge(&format!("{path}/status"), &json!({ "status": { "hard": { "cpu": "99" } } })).await.expect(200);
    for _ in 0..3 {
        let dry = format!("{path}?dryRun=All");
        root.send(Method::PATCH, &dry, MERGE_PATCH, Some(&json!({ "spec": { "hard": { "cpu": "5" } } })))
            .await
            .expect(200);
        root.send(Method::PATCH, &dry, MERGE_PATCH, Some(&six)).await.expect(403);
    }
    estate.catch_up("alice", "cpu", "7").await;
    assert_eq!(estate.local("one", "alice").await["usedHere"]["cpu"], "2");
    estate.set("one", "default", &json!({ "cpu": "5" })).await.expect(200);
    estate.used_is("alice", "cpu", "10").await;
}

/// QUOTA-6: of two allocations the one that leaves less decides, and is named.
async fn the_most_restrictive_allocation_wins(estate: Estate) {
    let estate = estate.of_alice().await;
    estate.allot("web", &json!({ "matchLabels": { "tier": "web" } }), &json!({ "cpu": "6" })).await;
    estate.project("shop", &json!({ "owner": "alice", "tier": "web" })).await;
    let refused = estate.create("shop", "default", &json!({ "cpu": "7" })).await.expect(403);
    let told = causes(&refused);
    assert!(told.len() == 1 && told[0].1.contains("\"web\""), "{refused}");
    let refused = estate.create("shop", "default", &json!({ "cpu": "11" })).await.expect(403);
    let told = causes(&refused);
    assert!(told.len() == 2 && told[0].1.contains("\"web\"") && told[1].1.contains("\"alice\""), "{refused}");
    estate.create("shop", "default", &json!({ "cpu": "6" })).await.expect(201);
    estate.used_is("web", "cpu", "6").await;
    estate.used_is("alice", "cpu", "6").await;
}

/// QUOTA-4, QUOTA-7, QUOTA-8, QUOTA-12, QUOTA-18, D-QUOTA-1, D-QUOTA-11, B-QUOTA-12: both forms of selectors, several quotas in a project, resources
/// of all kinds, scopes.
async fn quotas_of_a_project_count_together(estate: Estate) {
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
    estate.catch_up("teams", "pods", "10").await;
    estate.catch_up("teams", "requests.cpu", "4").await;
    let used = estate.allocation("teams").await["status"]["allocated"]["used"].clone();
    assert_eq!(used, json!({ "requests.cpu": "4", "memory": "4Gi", "count/deployments.apps": "5", "pods": "10" }));
    estate.used_is("long", "pods", "3").await;
}

/// QUOTA-19, D-QUOTA-7, D-QUOTA-8, Q-05: an allocation can be lowered below what is used, and less is always allowed.
async fn less_is_always_allowed(estate: Estate) {
    let estate = estate.of_alice().await;
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
    let is_told = || async { (estate.local("one", "alice").await["remaining"]["cpu"] == "0").then_some(()) };
    until(is_told, || "the project is not told that nothing is left".to_owned()).await;
}

/// D-QUOTA-2, D-QUOTA-3, B-QUOTA-1, Q-03: a quota cannot be emptied by those who do not decide about the allocation, and what is in use stays
/// charged when a quota shrinks.
async fn nothing_is_uncapped_by_leaving_it_out(estate: Estate) {
    let estate = estate.of_alice().await;
    let hard = json!({ "cpu": "5", "configmaps": "4" });
    let selector = json!({ "matchLabels": { "owner": "alice" } });
    estate.allot("maps", &selector, &json!({ "configmaps": "5" })).await;
    estate.create("one", "default", &hard).await.expect(201);
    bind(&estate, "one", "project-owner", "alice").await;
    let path = format!("{}/default", quotas("one"));
    let alice = estate.site.user("alice");
    let refused = alice.put(&path, &quota("default", &json!({ "configmaps": "4" }))).await.expect(403);
    assert_eq!(refused["details"]["causes"][0]["reason"], "AllocationUncovered", "{refused}");
    alice.put(&path, &quota("default", &json!({}))).await.expect(403);
    // Three config maps are there, one of them the authority's.
    for name in ["a", "b"] {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        let made = estate.root.post("/api/v1/namespaces/one/configmaps", &map).await;
        assert!(made.code == 201 || !estate.is_at_once(), "{}", made.text());
    }
    let used = || async {
        let found = estate.root.get(&path).await.expect(200);
        (found["status"]["used"]["configmaps"] == "3").then_some(())
    };
    until(used, || "nobody counts config maps".to_owned()).await;
    alice.put(&path, &quota("default", &json!({ "cpu": "5", "configmaps": "1" }))).await.expect(200);
    estate.used_is("maps", "configmaps", "3").await;
    estate.create("two", "default", &json!({ "configmaps": "3" })).await.expect(403);
    estate.create("two", "default", &json!({ "configmaps": "2" })).await.expect(201);
    // Who decides about the allocation decides about this.
    estate.set("one", "default", &json!({ "configmaps": "1" })).await.expect(200);
    let is_told =
        || async { estate.condition_becomes("alice", "Uncovered", "True").await.contains("one").then_some(()) };
    until(is_told, || "nobody is told that the project is not limited".to_owned()).await;
}

/// M-QUOTA-8, Q-04, SRV-7: what cannot be meant is refused, what can be is taken as Kubernetes takes it.
async fn odd_amounts_are_taken_as_kubernetes_takes_them(estate: Estate) {
    let estate = estate.of_alice().await;
    let refuse = async |hard: Value| {
        let object = crate::estate::allocation("bad", &json!({}), &hard);
        estate.root.post(&format!("{API}/resourcequotaallocations"), &object).await.expect(422)
    };
    for hard in
        [json!({ "cpu": "-1" }), json!({ "pods": "0.5" }), json!({ "bananas": 1 }), json!({}), json!({ "cpu": "x" })]
    {
        refuse(hard).await;
    }
    assert_eq!(causes(&refuse(json!({ "cpu": true })).await).len(), 1, "what the schema says is not said twice");
    let hard = json!({ "hard": { "cpu": "1" } });
    for (spec, field) in [
        (Value::Null, "spec.allocation.hard"),
        (json!({ "allocation": hard }), "spec.selector"),
        (json!({ "selector": {} }), "spec.allocation"),
        (json!({ "selector": {}, "allocation": {} }), "spec.allocation.hard"),
    ] {
        let mut object = crate::estate::allocation("bad", &json!({}), &json!({}));
        match spec.is_null() {
            true => drop(object.as_object_mut().unwrap().remove("spec")),
            false => object["spec"] = spec,
        }
        let refused = estate.root.post(&format!("{API}/resourcequotaallocations"), &object).await.expect(422);
        let fields: Vec<String> = causes(&refused).into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, [field], "{refused:#}");
    }
    estate.create("one", "default", &json!({ "cpu": "1e30" })).await.expect(403);
    estate.create("one", "default", &json!({ "cpu": "10.0000000001" })).await.expect(403);
    estate.create("one", "default", &json!({ "cpu": "0.009999k" })).await.expect(201);
    estate.create("two", "default", &json!({ "cpu": "1e-3" })).await.expect(201);
    estate.create("three", "default", &json!({ "cpu": "1n" })).await.expect(403);
    estate.used_is("alice", "cpu", "10").await;
}
