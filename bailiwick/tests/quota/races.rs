//! Many at once: the sum never passes the cap.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::estate::{API, Estate, quotas, until};

/// What quotas there are come to, in all projects, in thousandths of a CPU.
async fn sum(estate: &Estate) -> u64 {
    let all = estate.root.get("/api/v1/resourcequotas").await.expect(200);
    let cpu = |quota: &Value| match quota["spec"]["hard"]["cpu"].as_str().unwrap_or("0") {
        text if text.ends_with('m') => text.trim_end_matches('m').parse::<u64>().unwrap(),
        text => text.parse::<u64>().unwrap() * 1_000,
    };
    all["items"].as_array().unwrap().iter().map(cpu).sum()
}

/// QUOTA-14, B-QUOTA-2, Q-01, Q-09: 200 writers at once in 20 projects, again and again. Everyone gets an answer, all that is
/// left is given away, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_writers_never_pass_the_cap() {
    let estate = Estate::alone().await;
    estate.allot("all", &json!({ "matchLabels": { "owner": "alice" } }), &json!({ "cpu": "10" })).await;
    for number in 0..20 {
        estate.project(&format!("p{number}"), &json!({ "owner": "alice" })).await;
        estate.create(&format!("p{number}"), "default", &json!({ "cpu": "0" })).await.expect(201);
    }
    for round in 0..5 {
        let write = |number: u64| {
            let estate = &estate;
            async move {
                let namespace = format!("p{}", number % 20);
                let cpu = format!("{}m", (number * 7 + round * 131) % 1_900);
                let answer = estate.set(&namespace, "default", &json!({ "cpu": cpu })).await;
                assert!(matches!(answer.code, 200 | 403), "{}", answer.text());
                answer.code == 200
            }
        };
        let watch = async {
            for _ in 0..20 {
                assert!(sum(&estate).await <= 10_000);
            }
        };
        let (done, ()) = tokio::join!(join_all((0..200).map(write)), watch);
        let (allowed, total) = (done.iter().filter(|done| **done).count(), sum(&estate).await);
        println!("round {round}: {allowed} of 200 allowed, {total} of 10000 in use");
        assert!(total <= 10_000 && allowed > 0);
        let expected = match total % 1_000 {
            0 => (total / 1_000).to_string(),
            _ => format!("{total}m"),
        };
        estate.used_becomes("all", "cpu", &expected).await;
    }
}

/// what was promised to writes that did not happen is free again, and nothing stays reserved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_reserved_for_writes_that_fail() {
    let estate = Estate::alone().await.of_alice().await;
    // All of them ask for everything under one name: one is made.
    let all = json!({ "cpu": "10" });
    let made = join_all((0..40).map(|_| estate.create("one", "default", &all))).await;
    assert_eq!(made.iter().filter(|answer| answer.code == 201).count(), 1);
    assert!(
        made.iter().all(|answer| matches!(answer.code, 201 | 409)),
        "{:?}",
        made.iter().map(|a| a.code).collect::<Vec<_>>()
    );
    // Edits of a state that is gone are refused after they were found to fit.
    let path = format!("{}/default", quotas("one"));
    let seen = estate.root.get(&path).await.expect(200);
    let edits = (0..40).map(|number| {
        let mut object = seen.clone();
        object["spec"]["hard"]["cpu"] = json!(format!("{}m", number * 10));
        let (estate, path) = (&estate, &path);
        async move { estate.root.put(path, &object).await.code }
    });
    let codes = join_all(edits).await;
    assert_eq!(codes.iter().filter(|code| **code == 200).count(), 1, "{codes:?}");
    let left = sum(&estate).await;
    let free = || async {
        let told = estate.local("two", "alice").await["used"]["cpu"].clone();
        let told = told.as_str().unwrap().to_owned();
        let told =
            told.strip_suffix('m').map_or_else(|| told.parse::<u64>().unwrap() * 1_000, |milli| milli.parse().unwrap());
        (told == left).then_some(())
    };
    until(free, || "something stays reserved".to_owned()).await;
    estate.root.delete(&path).await.expect(200);
    estate.used_becomes("alice", "cpu", "0").await;
    estate.create("two", "default", &json!({ "cpu": "10" })).await.expect(201);
    let all = estate.root.get(&format!("{API}/resourcequotaallocations/alice/projects")).await.expect(200);
    assert_eq!(all["projects"].as_array().unwrap().len(), 3);
}
