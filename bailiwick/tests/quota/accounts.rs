//! What there is and what is counted stay the same, whatever changes.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::estate::{API, Estate, items, quotas, text, until};

in_both_modes!(
    projects_come_and_go_by_their_labels,
    what_is_deleted_is_free_again,
    the_status_is_written_when_it_matters_and_put_right,
    an_allocation_that_changes_is_counted_anew,
    the_system_is_no_project,
);

/// QUOTA-13, QUOTA-21, M-QUOTA-7, D-QUOTA-9, Q-05: projects are namespaces. One that comes with a quota is counted,
/// also beyond what there is, and one that goes is not. The next write is judged by the labels that there are then.
async fn projects_come_and_go_by_their_labels(estate: Estate) {
    let estate = estate.of_alice().await;
    estate.create("one", "default", &json!({ "cpu": "6" })).await.expect(201);
    estate.project("late", &json!({})).await;
    estate.create("late", "default", &json!({ "cpu": "5" })).await.expect(201);
    let label = |owner| json!({ "metadata": { "labels": { "owner": owner } } });
    estate.root.merge("/api/v1/namespaces/late", &label("alice")).await.expect(200);
    estate.catch_up("alice", "cpu", "11").await;
    estate.set("late", "default", &json!({ "cpu": "5001m" })).await.expect(403);
    estate.used_becomes("alice", "cpu", "11").await;
    assert_eq!(estate.condition_becomes("alice", "OverAllocated", "True").await, "cpu: 11 of 10");
    estate.root.merge("/api/v1/namespaces/late", &label("bob")).await.expect(200);
    estate.catch_up("alice", "cpu", "6").await;
    estate.set("late", "default", &json!({ "cpu": "50" })).await.expect(200);
    estate.used_becomes("alice", "cpu", "6").await;
    estate.condition_becomes("alice", "OverAllocated", "False").await;
    assert_eq!(estate.allocation("alice").await["status"]["projectCount"], 3);
}

/// QUOTA-24, Q-06: what a quota held is free again within a second after it is gone, not before, and once; and with its
/// namespace too.
async fn what_is_deleted_is_free_again(estate: Estate) {
    let estate = estate.of_alice().await;
    for (namespace, cpu) in [("one", "6"), ("two", "4")] {
        estate.create(namespace, "default", &json!({ "cpu": cpu })).await.expect(201);
    }
    estate.catch_up("alice", "cpu", "10").await;
    // What is about to go is there until it is gone.
    let path = format!("{}/default", quotas("one"));
    estate.root.merge(&path, &json!({ "metadata": { "finalizers": ["example.org/wait"] } })).await.expect(200);
    estate.root.delete(&path).await.expect(200);
    estate.create("three", "default", &json!({ "cpu": "1" })).await.expect(403);
    estate.root.merge(&path, &json!({ "metadata": { "finalizers": [] } })).await.expect(200);
    let began = Instant::now();
    estate.used_becomes("alice", "cpu", "4").await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let told = estate.condition_becomes("alice", "Uncovered", "True").await;
    assert!(told.contains("one") && told.contains("three") && !told.contains("two"), "{told}");
    estate.root.delete("/api/v1/namespaces/two").await.expect(200);
    estate.used_becomes("alice", "cpu", "0").await;
    let count = || async { (estate.allocation("alice").await["status"]["projectCount"] == 2).then_some(()) };
    until(count, || "the project is still there".to_owned()).await;
    estate.create("one", "default", &json!({ "cpu": "10" })).await.expect(201);
}

/// QUOTA-17, QUOTA-22, D-QUOTA-3, Q-08: what does not matter is not written down, and what someone writes over the truth is put right.
async fn the_status_is_written_when_it_matters_and_put_right(estate: Estate) {
    let estate = estate.of_alice().await;
    estate.create("one", "default", &json!({ "cpu": "6" })).await.expect(201);
    let version = || async { estate.allocation("alice").await["metadata"]["resourceVersion"].clone() };
    let is_told = || async {
        let row = estate.allocation("alice").await["status"]["usedByProject"][0].clone();
        row["quotas"][0]["uid"].is_string().then_some(())
    };
    until(is_told, || "the quota is not told".to_owned()).await;
    let before = version().await;
    let path = format!("{}/default", quotas("one"));
    let labels = json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "c": "d" } } });
    estate.root.merge(&path, &labels).await.expect(200);
    estate.root.merge(&path, &json!({ "spec": { "hard": { "cpu": "6000m" } } })).await.expect(200);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(version().await, before, "nothing that counts has changed");
    let lie = json!({ "status": { "allocated": { "hard": {}, "used": { "cpu": "0" } }, "usedByProject": null } });
    estate.root.merge(&format!("{API}/resourcequotaallocations/alice/status"), &lie).await.expect(200);
    estate.used_becomes("alice", "cpu", "6").await;
    estate.create("two", "default", &json!({ "cpu": "5" })).await.expect(403);
    let is_right = || async {
        (estate.allocation("alice").await["status"]["usedByProject"][0]["namespace"] == "one").then_some(())
    };
    until(is_right, || "the projects are not put right".to_owned()).await;
}

/// QUOTA-23, D-QUOTA-8: an allocation that selects or counts something else is counted anew, and so is one that comes again.
async fn an_allocation_that_changes_is_counted_anew(estate: Estate) {
    let estate = estate.of_alice().await;
    estate.project("other", &json!({ "owner": "bob" })).await;
    estate.create("one", "default", &json!({ "cpu": "6", "memory": "1Gi" })).await.expect(201);
    estate.create("other", "default", &json!({ "cpu": "3", "memory": "2Gi" })).await.expect(201);
    let path = format!("{API}/resourcequotaallocations/alice");
    let change = json!({ "spec": { "selector": { "matchLabels": { "owner": "bob" } } } });
    estate.root.merge(&path, &change).await.expect(200);
    estate.set("other", "default", &json!({ "cpu": "11", "memory": "2Gi" })).await.expect(403);
    estate.used_becomes("alice", "cpu", "3").await;
    estate.set("one", "default", &json!({ "cpu": "60" })).await.expect(200);
    let more = json!({ "spec": { "allocation": { "hard": { "memory": "4Gi" } } } });
    estate.root.merge(&path, &more).await.expect(200);
    estate.used_becomes("alice", "memory", "2Gi").await;
    estate.root.delete(&path).await.expect(200);
    estate.set("other", "default", &json!({ "cpu": "100" })).await.expect(200);
    estate.allot("alice", &json!({}), &json!({ "cpu": "200" })).await;
    estate.used_becomes("alice", "cpu", "160").await;
    estate.set("other", "default", &json!({ "cpu": "141" })).await.expect(403);
    estate.set("other", "default", &json!({ "cpu": "140" })).await.expect(200);
}

/// D-QUOTA-2, decisions 34: what selects everything does not select the system's namespace nor our own, which nobody is asked
/// about either: they are neither charged nor reported. Kubernetes' other namespaces are, but nothing is made in them.
async fn the_system_is_no_project(estate: Estate) {
    let mut object = crate::estate::allocation("all", &json!({}), &json!({ "persistentvolumeclaims": "1000" }));
    object["spec"]["uncoveredPolicy"] = json!("Zero");
    estate.create("bailiwick-system", "own", &json!({ "persistentvolumeclaims": "2000" })).await.expect(201);
    estate.create("kube-system", "own", &json!({ "pods": "10000" })).await.expect(201);
    estate.project("one", &json!({})).await;
    estate.root.post(&format!("{API}/resourcequotaallocations"), &object).await.expect(201);
    let made = || async {
        let answer = estate.root.get(&format!("{}/default", quotas("one"))).await;
        (answer.code == 200).then_some(())
    };
    until(made, || "other projects are given a quota".to_owned()).await;
    estate.used_becomes("all", "persistentvolumeclaims", "0").await;
    let is_told = || async {
        let told = estate.condition_becomes("all", "Uncovered", "True").await;
        told.ends_with("2 projects not limited in all resources: kube-node-lease, kube-public").then_some(())
    };
    until(is_told, || "others than Kubernetes' own are not limited".to_owned()).await;
    estate.create("bailiwick-system", "more", &json!({ "persistentvolumeclaims": "3000" })).await.expect(201);
    let told = estate.root.get(&format!("{API}/localresourcequotaallocations")).await.expect(200);
    let told: Vec<String> = items(&told).iter().map(|item| text(&item["metadata"]["namespace"])).collect();
    assert!(told.contains(&"one".to_owned()) && told.contains(&"default".to_owned()), "{told:?}");
    for name in ["kube-system", "bailiwick-system"] {
        assert!(!told.contains(&name.to_owned()), "{told:?}");
        assert_eq!(estate.root.get(&format!("{}/default", quotas(name))).await.code, 404);
    }
    estate.used_is("all", "persistentvolumeclaims", "0").await;
    for (namespace, name) in [("bailiwick-system", "own"), ("bailiwick-system", "more"), ("kube-system", "own")] {
        estate.root.delete(&format!("{}/{name}", quotas(namespace))).await.expect(200);
    }
}

/// Decisions 16: all projects can be read, a page at a time, and only the largest are in the status.
#[tokio::test]
async fn projects_are_told_in_pages() {
    let estate = Estate::alone().await;
    estate.allot("all", &json!({ "matchLabels": { "a": "b" } }), &json!({ "pods": "1000" })).await;
    for number in 0..105 {
        let name = format!("p{number:03}");
        estate.project(&name, &json!({ "a": "b" })).await;
        estate.create(&name, "default", &json!({ "pods": number % 10 })).await.expect(201);
    }
    let status = estate.allocation("all").await["status"].clone();
    let shown = status["usedByProject"].as_array().unwrap().clone();
    assert_eq!((shown.len(), &status["projectCount"]), (100, &json!(105)));
    assert!(shown[..10].iter().all(|row| row["used"]["pods"] == "9"), "the largest come first");
    let path = format!("{API}/resourcequotaallocations/all/projects");
    let (mut after, mut found) = (String::new(), Vec::new());
    loop {
        let page = estate.root.get(&format!("{path}?limit=40&continue={after}")).await.expect(200);
        let names = page["projects"].as_array().unwrap().iter().map(|row| text(&row["namespace"]));
        found.extend(names);
        after = text(&page["continue"]);
        if after.is_empty() {
            break;
        }
    }
    assert_eq!(found, (0..105).map(|number| format!("p{number:03}")).collect::<Vec<_>>());
    estate.root.get(&format!("{API}/resourcequotaallocations/none/projects")).await.expect(404);
}
