//! What a project is told is what is decided, and changes are told.

use bailiwick_test_host::Random;
use serde_json::{Value, json};

use crate::estate::{API, Estate, items, until};

in_both_modes!(what_is_told_predicts_what_is_decided, what_a_project_is_told_can_be_followed);

/// A project's quotas, as the test knows them: CPUs in thousandths, and pods.
type Quotas = [[Option<(u32, u32)>; 2]; 4];

/// How many owners there are, who change their projects at the same time.
const OWNERS: u64 = 4;
/// How many changes each of them makes.
const CHANGES: u32 = 250;

/// QUOTA-32: a thousand changes by chance, each predicted from what the project is told.
async fn what_is_told_predicts_what_is_decided(estate: Estate) {
    let seed = std::env::var("BAILIWICK_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7_u64);
    println!("seed: {seed}");
    futures::future::join_all((0..OWNERS).map(|owner| predict(&estate, owner, seed.wrapping_add(owner)))).await;
}

/// The changes of one owner, who has two allocations and four projects.
async fn predict(estate: &Estate, owner: u64, seed: u64) {
    let mut random = Random::new(seed);
    let (all, label) = (format!("all{owner}"), format!("alice{owner}"));
    let hard = json!({ "cpu": "10", "pods": "20" });
    estate.allot(&all, &json!({ "matchLabels": { "owner": label } }), &hard).await;
    let web = json!({ "matchLabels": { "owner": label, "tier": "web" } });
    estate.allot(&format!("web{owner}"), &web, &json!({ "requests.cpu": "6" })).await;
    for (number, tier) in ["web", "web", "db", "db"].iter().enumerate() {
        let namespace = format!("p{owner}{number}");
        estate.project(&namespace, &json!({ "owner": label, "tier": tier })).await;
        let count = if *tier == "web" { 2 } else { 1 };
        knows_its_allocations(estate, &namespace, count).await;
    }
    let mut quotas: Quotas = [[None; 2]; 4];
    let (mut allowed, mut refused) = (0, 0);
    for step in 0..CHANGES {
        let (project, which) = (random.below(4), random.below(2));
        let (namespace, name) = (format!("p{owner}{project}"), ["default", "second"][which]);
        let chosen = |random: &mut Random, bound| u32::try_from(random.below(bound)).unwrap();
        let wanted = (chosen(&mut random, 90) * 100, chosen(&mut random, 15));
        let mut then = quotas[project];
        then[which] = Some(wanted);
        let path = format!("{API}/namespaces/{namespace}/localresourcequotaallocations");
        let told = estate.root.get(&path).await.expect(200);
        let fits = told["items"].as_array().unwrap().iter().all(|allocation| fits(allocation, &then));
        let spec = json!({ "cpu": format!("{}m", wanted.0), "pods": wanted.1 });
        let answer = match quotas[project][which] {
            None => estate.create(&namespace, name, &spec).await,
            Some(_) => estate.set(&namespace, name, &spec).await,
        };
        let is_allowed = matches!(answer.code, 200 | 201);
        assert!(is_allowed || answer.code == 403, "{}", answer.text());
        assert_eq!(is_allowed, fits, "step {step} of {seed}: {namespace}/{name} {spec}: {told} {}", answer.text());
        if is_allowed {
            quotas[project] = then;
            allowed += 1;
            is_told(estate, &namespace, &all, &then).await;
        } else {
            refused += 1;
        }
    }
    assert!(allowed > CHANGES / 10 && refused > CHANGES / 10, "{allowed} allowed, {refused} refused");
}

/// Waits until a new project is told of all allocations it is under: its labels are followed, in every mode.
async fn knows_its_allocations(estate: &Estate, namespace: &str, count: usize) {
    let path = format!("{API}/namespaces/{namespace}/localresourcequotaallocations");
    let knows = || async { (items(&estate.root.get(&path).await.expect(200)).len() == count).then_some(()) };
    until(knows, || format!("{namespace} is not told of its {count} allocations")).await;
}

/// Waits until a project is told that it has what it has; that is so at once where nothing is followed.
async fn is_told(estate: &Estate, namespace: &str, allocation: &str, quotas: &[Option<(u32, u32)>; 2]) {
    let most = |of: fn(&(u32, u32)) -> u32| quotas.iter().flatten().map(of).max().unwrap_or(0);
    let has = (most(|quota| quota.0), most(|quota| quota.1) * 1_000);
    let is_so = || async {
        let told = estate.local(namespace, allocation).await;
        let is_so = (thousandths(&told, "usedHere", "cpu"), thousandths(&told, "usedHere", "pods")) == has;
        assert!(is_so || !estate.is_at_once(), "{namespace}: {told} {has:?}");
        is_so.then_some(())
    };
    until(is_so, || format!("{namespace} is not told what it has")).await;
}

/// As the documentation says it: for each resource at most what remains, or at most what the project has.
fn fits(allocation: &Value, quotas: &[Option<(u32, u32)>; 2]) -> bool {
    let most = |of: fn(&(u32, u32)) -> u32| quotas.iter().flatten().map(of).max().unwrap_or(0);
    let (cpu, pods) = (most(|quota| quota.0), most(|quota| quota.1) * 1_000);
    let thousandths = |field: &str, resource: &str| thousandths(allocation, field, resource);
    allocation["hard"].as_object().unwrap().keys().all(|resource| {
        let wanted = if resource == "pods" { pods } else { cpu };
        wanted <= thousandths("remaining", resource) || wanted <= thousandths("usedHere", resource)
    })
}

fn thousandths(allocation: &Value, field: &str, resource: &str) -> u32 {
    let amount = allocation[field][resource].as_str().unwrap();
    match amount.strip_suffix('m') {
        Some(milli) => milli.parse::<u32>().unwrap(),
        None => amount.parse::<u32>().unwrap() * 1_000,
    }
}

/// M-QUOTA-5: what a project is told can be followed, from a list on, and from where one left off.
async fn what_a_project_is_told_can_be_followed(estate: Estate) {
    let estate = estate.of_alice().await;
    let path = format!("{API}/namespaces/one/localresourcequotaallocations");
    let told = || async {
        let list = estate.root.get(&path).await.expect(200);
        (!list["items"].as_array().unwrap().is_empty()).then_some(list)
    };
    let list = until(told, || "the project is told nothing".to_owned()).await;
    let from = crate::estate::text(&list["metadata"]["resourceVersion"]);
    let mut whole = estate.root.watch(&format!("{path}?watch=true")).await;
    assert_eq!(whole.soon().await["type"], "ADDED");
    let mut events = estate.root.watch(&format!("{path}?watch=true&resourceVersion={from}")).await;
    estate.create("two", "default", &json!({ "cpu": "4" })).await.expect(201);
    let next = until_event(&mut events, |event| event["object"]["used"]["cpu"] == "4").await;
    assert_eq!((&next["type"], &next["object"]["remaining"]["cpu"]), (&json!("MODIFIED"), &json!("6")));
    until_event(&mut whole, |event| event["object"]["used"]["cpu"] == "4").await;
    estate.allot("second", &json!({ "matchLabels": { "owner": "alice" } }), &json!({ "pods": "1" })).await;
    until_event(&mut events, |event| event["type"] == "ADDED" && event["object"]["metadata"]["name"] == "second").await;
    let label = json!({ "metadata": { "labels": { "owner": "bob" } } });
    estate.root.merge("/api/v1/namespaces/one", &label).await.expect(200);
    let mut gone = Vec::new();
    while gone.len() < 2 {
        let event = until_event(&mut events, |event| event["type"] == "DELETED").await;
        gone.push(crate::estate::text(&event["object"]["metadata"]["name"]));
    }
    gone.sort();
    assert_eq!(gone, ["alice", "second"]);
    let mut again = estate.root.watch(&format!("{path}?watch=true&resourceVersion={from}")).await;
    until_event(&mut again, |event| event["type"] == "DELETED" && event["object"]["metadata"]["name"] == "alice").await;
}

async fn until_event(events: &mut crate::client::Events, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let event = events.soon().await;
        if wanted(&event) {
            return event;
        }
    }
}
