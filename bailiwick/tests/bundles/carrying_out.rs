//! What becomes of a Bundle.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::shop::{BUNDLES, MAPS, SECRETS, SLEEPERS, Shop, condition, map, part, resource, secret, sleeper};

in_both_modes!(
    objects_are_made_of_each_other,
    trouble_stays_where_it_is,
    what_is_not_wanted_goes_when_the_rest_is_ready,
    two_writers_do_not_fight_for_ever,
    many_resources
);

/// SMITH-2, SMITH-5, SMITH-6, SMITH-8, SMITH-10, SMITH-14, B-SMITH-3: nothing is ready at once; objects of all kinds are made,
/// with values as text and as they are, and those of a Secret in a Secret.
async fn objects_are_made_of_each_other(shop: Shop) {
    shop.write("empty", json!([])).await;
    assert_eq!(shop.ready("empty").await["status"]["ready"], "0/0");

    let resources = json!([
        part(&[], sleeper("first", json!({ "count": 3, "on": true, "tree": { "deep": [1, 2] } }))),
        part(&[], map("second", json!({ "word": "two" }))),
        part(&["first", "second"], map("third", json!({
            "number": "$(first.spec.count)", "boolean": "$(first.spec.on)", "both": "$(second.data.word)/$(first.spec.count)",
            "plain": "$$(first.spec.count)",
        }))),
        part(&["first"], sleeper("fourth", json!({ "count": "$((first.spec.count))", "tree": "$((first.spec.tree))" }))),
        part(&[], secret("key", json!({ "password": "canary-value" }))),
        { "name": "copy", "dependsOn": ["key"], "spec": {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "copy-of-$(key.metadata.name)" },
            "data": { "password": "$(key.data.password)" },
        } },
    ]);
    shop.write("all", resources).await;
    shop.until(&format!("{SLEEPERS}/first"), |_| true).await;
    shop.wake("first", "").await;
    shop.until(&format!("{SLEEPERS}/fourth"), |_| true).await;
    shop.wake("fourth", "").await;
    let ready = shop.ready("all").await;
    assert_eq!(ready["status"]["ready"], "6/6");
    let third = shop.root.get(&format!("{MAPS}/third")).await.expect(200);
    assert_eq!(
        third["data"],
        json!({ "number": "3", "boolean": "true", "both": "two/3", "plain": "$(first.spec.count)" })
    );
    let fourth = shop.root.get(&format!("{SLEEPERS}/fourth")).await.expect(200);
    assert_eq!(fourth["spec"], json!({ "count": 3, "tree": { "deep": [1, 2] } }));
    let copy = shop.root.get(&format!("{SECRETS}/copy-of-key")).await.expect(200);
    assert_eq!(copy["data"]["password"], "Y2FuYXJ5LXZhbHVl");
    assert_eq!(resource(&ready, "copy")["object"]["name"], "copy-of-key");
    assert!(!ready["status"].to_string().contains("canary-value") && !ready["status"].to_string().contains("Y2FuYXJ5"));
}

/// SMITH-9, SMITH-11, P-9, P-10: what cannot be made says why, others go on, and what is not the Bundle's is left alone.
async fn trouble_stays_where_it_is(shop: Shop) {
    shop.root.post(MAPS, &map("theirs", json!({ "whose": "theirs" }))).await.expect(201);
    let resources = json!([
        part(&[], sleeper("source", json!({ "list": [1] }))),
        part(&["source"], sleeper("typed", json!({ "text": "$(source.spec.list)" }))),
        part(&["source"], sleeper("fine", json!({ "list": "$((source.spec.list))" }))),
        part(&[], map("theirs", json!({ "whose": "mine" }))),
        part(&["theirs"], map("behind", json!({}))),
        part(
            &[],
            json!({ "apiVersion": "later.example.dev/v1", "kind": "Later", "metadata": { "name": "late" }, "spec": {} })
        ),
    ]);
    shop.write("mixed", resources).await;
    shop.until(&format!("{SLEEPERS}/source"), |_| true).await;
    shop.wake("source", "").await;
    let typed = shop.says("mixed", "typed", "Error", "InvalidReferenceType").await;
    assert!(typed["message"].as_str().unwrap().contains("source.spec.list is a list"), "{typed}");
    shop.says("mixed", "fine", "InProgress", "NotReady").await;
    let theirs = shop.says("mixed", "theirs", "Error", "NotOwned").await;
    assert!(theirs["message"].as_str().unwrap().contains("was not made by this Bundle"), "{theirs}");
    shop.says("mixed", "behind", "Blocked", "DependencyNotReady").await;
    shop.says("mixed", "late", "Blocked", "KindNotServed").await;
    let bundle = shop.bundle("mixed").await;
    assert_eq!(condition(&bundle, "Ready")["reason"], "ResourceError");
    assert_eq!(shop.root.get(&format!("{MAPS}/theirs")).await.expect(200)["data"]["whose"], "theirs");

    // All of it heals when the reason is gone.
    shop.root.delete(&format!("{MAPS}/theirs")).await.expect(200);
    shop.until(&format!("{MAPS}/behind"), |_| true).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/theirs")).await.expect(200)["data"]["whose"], "mine");
    shop.define("later.example.dev", "Later", json!({})).await;
    shop.says("mixed", "late", "Ready", "Ready").await;
    shop.wake("fine", "").await;
    shop.change("mixed", json!([])).await;
    shop.ready("mixed").await;
    shop.gone(&format!("{MAPS}/theirs")).await;
}

/// P-1, D-SMITH-9, B-09: what is not wanted any more goes once the rest is ready, by its UID, and not before.
async fn what_is_not_wanted_goes_when_the_rest_is_ready(shop: Shop) {
    shop.write("shrinking", json!([part(&[], map("old", json!({}))), part(&[], map("kept", json!({ "v": "1" })))]))
        .await;
    let ready = shop.ready("shrinking").await;
    assert_eq!(condition(&ready, "PruningComplete")["status"], "True");
    shop.change(
        "shrinking",
        json!([part(&[], map("kept", json!({ "v": "2" }))), part(&[], sleeper("slow", json!({})))]),
    )
    .await;
    let waiting = shop
        .until(&format!("{BUNDLES}/shrinking"), |bundle| condition(bundle, "PruningComplete")["status"] == "False")
        .await;
    assert!(
        condition(&waiting, "PruningComplete")["message"].as_str().unwrap().contains("ConfigMap \"old\""),
        "{waiting}"
    );
    sleep(Duration::from_millis(300)).await;
    shop.root.get(&format!("{MAPS}/old")).await.expect(200);
    // Somebody else's object of the same name is not the one that was made.
    shop.root.delete(&format!("{MAPS}/old")).await.expect(200);
    shop.root.post(MAPS, &map("old", json!({ "whose": "theirs" }))).await.expect(201);
    shop.wake("slow", "").await;
    shop.until(&format!("{BUNDLES}/shrinking"), |bundle| condition(bundle, "PruningComplete")["status"] == "True")
        .await;
    let ready = shop.ready("shrinking").await;
    assert_eq!(ready["status"]["inventory"].as_array().unwrap().len(), 2, "{ready:#}");
    assert_eq!(shop.root.get(&format!("{MAPS}/old")).await.expect(200)["data"]["whose"], "theirs");
    assert_eq!(shop.root.get(&format!("{MAPS}/kept")).await.expect(200)["data"]["v"], "2");
    // What was made under another name before goes as well.
    shop.change("shrinking", json!([{ "name": "kept", "spec": map("renamed", json!({})) }])).await;
    shop.gone(&format!("{MAPS}/kept")).await;
    shop.gone(&format!("{SLEEPERS}/slow")).await;
    shop.root.get(&format!("{MAPS}/renamed")).await.expect(200);
}

/// P-8: what others change is put right, but not for ever; then it is said who it is.
async fn two_writers_do_not_fight_for_ever(shop: Shop) {
    shop.write("stubborn", json!([part(&[], map("m", json!({ "v": "mine" })))])).await;
    shop.ready("stubborn").await;
    let path = format!("{MAPS}/m");
    let began = Instant::now();
    let mut corrected = 0;
    loop {
        shop.apply(&path, "rival", &map("m", json!({ "v": "theirs" }))).await;
        let settled = loop {
            if shop.root.get(&path).await.expect(200)["data"]["v"] == "mine" {
                break None;
            }
            let told = resource(&shop.bundle("stubborn").await, "m");
            if told["reason"] == "UpdateLoop" {
                break Some(told);
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{told}");
            sleep(Duration::from_millis(20)).await;
        };
        match settled {
            None => corrected += 1,
            Some(told) => {
                let message = told["message"].as_str().unwrap();
                assert!(message.contains("\"rival\"") && message.contains(".data.v"), "{message}");
                break;
            }
        }
        assert!(corrected < 20, "they go on for ever");
    }
    assert!(corrected >= 3, "{corrected}");
    // A change of the Bundle is a new beginning.
    shop.change("stubborn", json!([part(&[], map("m", json!({ "v": "newer" })))])).await;
    shop.ready("stubborn").await;
    assert_eq!(shop.root.get(&path).await.expect(200)["data"]["v"], "newer");
}

/// SMITH-15: independent resources are made at the same time, and a bundle of 200 is made as well as one of two.
async fn many_resources(shop: Shop) {
    let mut resources: Vec<Value> = vec![part(&[], map("root", json!({ "v": "1" })))];
    resources.extend((1..200).map(|number| {
        let before = if number % 10 == 1 { "root".to_owned() } else { format!("m{}", number - 1) };
        part(&[&before], map(&format!("m{number}"), json!({ "v": format!("$({before}.data.v)") })))
    }));
    let began = Instant::now();
    shop.write("many", json!(resources)).await;
    let ready = shop.ready("many").await;
    eprintln!("200 resources were ready after {:?}", began.elapsed());
    assert_eq!(ready["status"]["ready"], "200/200");
    assert_eq!(shop.root.get(&format!("{MAPS}/m199")).await.expect(200)["data"]["v"], "1");
    resources[0] = part(&[], map("root", json!({ "v": "2" })));
    shop.change("many", json!(resources)).await;
    shop.until(&format!("{MAPS}/m199"), |map| map["data"]["v"] == "2").await;
    shop.root.delete(&format!("{BUNDLES}/many")).await.expect(200);
    shop.gone(&format!("{MAPS}/root")).await;
    shop.gone(&format!("{BUNDLES}/many")).await;
}
