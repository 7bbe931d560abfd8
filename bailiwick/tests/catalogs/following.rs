//! Claims that follow their entries, and claims that do not.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::market::{Market, claims, core, entries};
use crate::objects::{claim, condition, config_map, entry, list, local, secret};
use crate::process::PATIENCE;
use crate::site::Site;

/// Between two looks at many claims.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

in_both_modes!(
    a_change_reaches_all_who_follow,
    a_kick_counts_once_whatever_fails,
    claims_follow_that_are_to,
    what_was_published_anew_is_not_followed,
    who_has_lost_a_right_follows_no_more
);

/// CAT-5, CAT-46, CAT-55, CAT-56, CAT-60, CAT-63, CAT-64, M-CAT-4, D-CAT-4: who wants to follow follows, and is repaired; others are left as they
/// are until they are kicked.
async fn claims_follow_that_are_to(site: &mut Market) {
    let root = site.root();
    site.publish(&entry("settings", local(&[("ConfigMap", "settings")]))).await;
    site.claimed(&claim("follows", "settings", json!({ "namePrefix": "f-", "keepSynchronized": true }))).await;
    site.claimed(&claim("stays", "settings", json!({ "namePrefix": "s-" }))).await;
    let (follows, stays) = (core("a", "configmaps", "f-settings"), core("a", "configmaps", "s-settings"));
    let before = root.get(&stays).await.expect(200);
    let source = core("shop", "configmaps", "settings");
    root.merge(&source, &json!({ "data": { "colour": null, "size": "big" } })).await.expect(200);
    site.until(&follows, |copy| copy["data"] == json!({ "size": "big" })).await;
    assert_eq!(root.get(&stays).await.expect(200), before);
    // Whoever changes a copy that follows is overruled, and whoever removes it.
    root.merge(&follows, &json!({ "data": { "size": "small" } })).await.expect(200);
    site.until(&follows, |copy| copy["data"] == json!({ "size": "big" })).await;
    root.delete(&follows).await.expect(200);
    let anew = site.until(&follows, |copy| copy["data"] == json!({ "size": "big" })).await;
    let told = format!("{}/follows", claims("a"));
    site.until(&told, |claim| claim["status"]["createdResources"][0]["uid"] == anew["metadata"]["uid"]).await;
    // Fields that are someone else's stay.
    root.merge(&follows, &json!({ "metadata": { "annotations": { "note": "theirs" } } })).await.expect(200);
    root.merge(&source, &json!({ "data": { "size": "huge" } })).await.expect(200);
    let copy = site.until(&follows, |copy| copy["data"] == json!({ "size": "huge" })).await;
    assert_eq!(copy["metadata"]["annotations"]["note"], "theirs");
    let manager = format!("catalog-claim/{}", copy["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap());
    let owners = copy["metadata"]["managedFields"].as_array().unwrap();
    let owner = owners.iter().find(|owner| owner["manager"] == manager).unwrap_or_else(|| panic!("{owners:#?}"));
    assert_eq!(owner["operation"], "Apply");
    // A kick makes it all anew, once.
    let at = format!("{}/stays", claims("a"));
    site.user("eddie").merge(&at, &json!({ "spec": { "generation": 5 } })).await.expect(200);
    let kicked = site.until(&at, |claim| claim["status"]["generation"] == 5).await;
    assert_eq!(
        (&kicked["metadata"]["generation"], &kicked["status"]["observedGeneration"]),
        (&json!(2), &json!(2)),
        "these are others"
    );
    assert_eq!(root.get(&stays).await.expect(200)["data"], json!({ "size": "huge" }));
    root.merge(&stays, &json!({ "data": { "size": "tiny" } })).await.expect(200);
    root.merge(&source, &json!({ "data": { "size": "vast" } })).await.expect(200);
    site.until(&follows, |copy| copy["data"] == json!({ "size": "vast" })).await;
    assert_eq!(root.get(&stays).await.expect(200)["data"], json!({ "size": "tiny" }));
}

/// CAT-5, CAT-64: a kick makes everything anew once. What fails of it is tried again, and what people change then is theirs.
async fn a_kick_counts_once_whatever_fails(site: &mut Market) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    let listed = |value: &str| {
        list(json!([
            config_map("x", json!({ "v": value })),
            config_map("taken", json!({ "v": value })),
            secret("y", json!({ "v": value })),
        ]))
    };
    site.make("a", "configmaps", &config_map("taken", json!({ "theirs": "yes" }))).await;
    // The account can do nothing with Secrets but make them.
    site.account("a", "clumsy").await;
    let makes = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] });
    site.grant("a", "clumsy", makes, "ServiceAccount/clumsy").await;
    let creates = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "get"] });
    site.grant("a", "clumsy-creates", creates, "ServiceAccount/clumsy").await;
    site.publish(&entry("set", listed("1"))).await;
    let mine = claim("mine", "set", json!({ "serviceAccountName": "clumsy" }));
    eddie.post(&claims("a"), &mine).await.expect(201);
    let (at, x, y) = (format!("{}/mine", claims("a")), core("a", "configmaps", "x"), core("a", "secrets", "y"));
    site.until(&at, |claim| condition(claim, "Ready").1 == "AlreadyExists").await;
    root.merge(&format!("{}/set", entries("shop")), &json!({ "spec": listed("2") })).await.expect(200);
    site.accepted("set").await;
    eddie.merge(&at, &json!({ "spec": { "generation": 5 } })).await.expect(200);
    let kicked = site.until(&at, |claim| claim["status"]["generation"] == 5).await;
    let failed: Vec<(&str, &str)> = kicked["status"]["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["name"].as_str().unwrap(), error["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(failed, [("taken", "AlreadyExists"), ("y", "Forbidden")], "{kicked}");
    assert_eq!(root.get(&x).await.expect(200)["data"], json!({ "v": "2" }));
    // What was done is done.
    let theirs = root.merge(&x, &json!({ "data": { "v": "theirs" } })).await.expect(200);
    // It is tried again after some milliseconds, and then ever more rarely.
    sleep(Duration::from_secs(2)).await;
    assert_eq!(root.get(&x).await.expect(200), theirs);
    assert_eq!(root.get(&y).await.expect(200)["data"], json!({ "v": "MQ==" }));
    // What failed is done when it can be.
    let patches = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["*"] });
    site.grant("a", "clumsy-changes", patches, "ServiceAccount/clumsy").await;
    site.until(&y, |copy| copy["data"] == json!({ "v": "Mg==" })).await;
    assert_eq!(root.get(&x).await.expect(200), theirs);
}

/// CAT-38 and D-CAT-14: what is gone or another where it was published is not followed, and the last copy stays.
async fn what_was_published_anew_is_not_followed(site: &mut Market) {
    let root = site.root();
    site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    site.claimed(&claim("mine", "creds", json!({ "keepSynchronized": true }))).await;
    let (at, copy) = (format!("{}/mine", claims("a")), core("a", "secrets", "creds"));
    let before = root.get(&copy).await.expect(200);
    root.delete(&core("shop", "secrets", "creds")).await.expect(200);
    let told = site.until(&at, |claim| condition(claim, "Synced") == ("False", "SourceGone")).await;
    assert_eq!(condition(&told, "Ready").0, "True", "the copy is there");
    let is_told = |event: &Value| event["reason"] == "SourceGone" && event["regarding"]["name"] == "mine";
    let events = "/apis/events.k8s.io/v1/namespaces/a/events";
    site.until(events, |list| list["items"].as_array().unwrap().iter().any(is_told)).await;
    site.make("shop", "secrets", &secret("creds", json!({ "password": "other" }))).await;
    site.until(&at, |claim| condition(claim, "Synced") == ("False", "SourceReplaced")).await;
    let after = root.get(&copy).await.expect(200);
    assert_eq!((&after["data"], &after["metadata"]["uid"]), (&before["data"], &before["metadata"]["uid"]));
    // A new claim gets nothing of it either.
    site.user("eddie").post(&claims("a"), &claim("second", "creds", json!({ "namePrefix": "x-" }))).await.expect(201);
    let refused =
        site.until(&format!("{}/second", claims("a")), |claim| condition(claim, "Ready").1 == "SourceReplaced").await;
    assert!(refused["status"]["errors"][0]["message"].as_str().unwrap().contains("uid mismatch"), "{refused}");
    root.get(&core("a", "secrets", "x-creds")).await.expect(404);
    // Its publisher writes the entry again, and means the new one.
    let entry = format!("{}/creds", entries("shop"));
    let seen = site.user("pat").get(&entry).await.expect(200);
    site.user("pat").put(&entry, &seen).await.expect(200);
    site.until(&at, |claim| condition(claim, "Synced").0 == "True" && claim["status"]["entryGeneration"] == 2).await;
    assert_ne!(root.get(&copy).await.expect(200)["data"], before["data"]);
}

/// CAT-45, CAT-46: a change of an entry reaches all claims that follow it, whatever it changes, and no others.
async fn a_change_reaches_all_who_follow(site: &mut Market) {
    a_change_reaches(site, 40).await;
}

/// CAT-45: it reaches a thousand of them.
#[tokio::test]
async fn a_change_reaches_a_thousand_who_follow() {
    a_change_reaches(&Market::open(Site::alone().await).await, 1_000).await;
}

/// So many claims follow a change, and one that is not to does not.
async fn a_change_reaches(site: &Market, count: usize) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    site.publish(&entry("set", list(json!([config_map("x", json!({ "v": "1" })), config_map("y", json!({}))])))).await;
    let wanted: Vec<Value> = (0..count)
        .map(|number| {
            claim(
                &format!("c{number}"),
                "set",
                json!({ "namePrefix": format!("c{number}-"), "keepSynchronized": true }),
            )
        })
        .collect();
    for part in wanted.chunks(50) {
        let path = claims("a");
        join_all(part.iter().map(|claim| eddie.post(&path, claim)))
            .await
            .iter()
            .for_each(|answer| drop(answer.expect(201)));
    }
    eddie.post(&claims("a"), &claim("still", "set", json!({ "namePrefix": "still-" }))).await.expect(201);
    all_follow(site, count, 1).await;
    site.ready("a", "still").await;
    let changed = json!({ "spec": { "resourceList": { "resources": [config_map("x", json!({ "v": "2" })), config_map("z", json!({}))] } } });
    let began = Instant::now();
    site.user("pat").merge(&format!("{}/set", entries("shop")), &changed).await.expect(200);
    all_follow(site, count, 2).await;
    println!("{count} claims followed in {:?}", began.elapsed());
    for number in [0, count - 1] {
        let copy = |name: &str| core("a", "configmaps", &format!("c{number}-{name}"));
        assert_eq!(root.get(&copy("x")).await.expect(200)["data"], json!({ "v": "2" }));
        root.get(&copy("z")).await.expect(200);
        root.get(&copy("y")).await.expect(404);
    }
    assert_eq!(root.get(&core("a", "configmaps", "still-x")).await.expect(200)["data"], json!({ "v": "1" }));
    root.get(&core("a", "configmaps", "still-y")).await.expect(200);
}

/// Waits until so many claims are as their entry is in this generation. That may take long, if only there are ever more of them.
async fn all_follow(site: &Market, count: usize, generation: i64) {
    let follows = |claim: &&Value| {
        claim["spec"]["keepSynchronized"] == true
            && claim["status"]["entryGeneration"] == generation
            && condition(claim, "Synced").0 == "True"
    };
    let (mut following, mut since) = (0, Instant::now());
    while following < count {
        sleep(BETWEEN_LOOKS).await;
        let list = site.root().get(&claims("a")).await.expect(200);
        let now = list["items"].as_array().unwrap().iter().filter(follows).count();
        if now > following {
            (following, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "{following} of {count} claims follow");
    }
}

/// I5, D-05, D-07: what was lost is not followed any more: the right to claim, the entry's place in the catalog, the catalog in the namespace.
async fn who_has_lost_a_right_follows_no_more(site: &mut Market) {
    let (root, ada) = (site.root(), site.user("ada"));
    site.publish(&entry("settings", local(&[("ConfigMap", "settings")]))).await;
    site.claimed(&claim("mine", "settings", json!({ "keepSynchronized": true }))).await;
    let (at, copy, source) =
        (format!("{}/mine", claims("a")), core("a", "configmaps", "settings"), core("shop", "configmaps", "settings"));
    let touch = async |value: &str| {
        root.merge(&source, &json!({ "data": { "colour": value } })).await.expect(200);
    };
    site.revoke("a", "eddie-claims").await;
    // What was asked is remembered for a moment.
    sleep(Duration::from_secs(3)).await;
    touch("red").await;
    let told = site.until(&at, |claim| condition(claim, "Synced") == ("False", "NotAllowed")).await;
    assert_eq!(condition(&told, "Ready").0, "True");
    assert_eq!(root.get(&copy).await.expect(200)["data"]["colour"], "blue");
    // Whoever may, takes it over by writing it.
    ada.merge(&at, &json!({ "spec": { "generation": 1 } })).await.expect(200);
    site.until(&copy, |copy| copy["data"]["colour"] == "red").await;
    site.until(&at, |claim| condition(claim, "Synced").0 == "True").await;
    // The entry is taken out of the catalog.
    let entry = format!("{}/settings", entries("shop"));
    site.user("pat").merge(&entry, &json!({ "metadata": { "labels": { "tier": "none" } } })).await.expect(200);
    site.until(&at, |claim| condition(claim, "Synced") == ("False", "NotAllowed")).await;
    touch("green").await;
    site.user("pat").merge(&entry, &json!({ "metadata": { "labels": { "tier": "gold" } } })).await.expect(200);
    site.until(&copy, |copy| copy["data"]["colour"] == "green").await;
    root.delete(&entry).await.expect(200);
    site.until(&at, |claim| condition(claim, "Synced") == ("False", "SourceGone")).await;
    assert_eq!(root.get(&copy).await.expect(200)["data"]["colour"], "green", "nothing is removed because an entry is");
}
