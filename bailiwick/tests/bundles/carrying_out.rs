//! What becomes of a Bundle.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::shop::{
    BUNDLES, LOOKED_AT_AGAIN, MAPS, SECRETS, SLEEPERS, Shop, condition, map, part, resource, secret, sleeper,
};

in_both_modes!(
    objects_are_made_of_each_other,
    references_are_written_in_many_ways,
    trouble_stays_where_it_is,
    what_another_controls_is_left_alone,
    what_grows_without_end_is_stopped,
    what_is_not_wanted_goes_when_the_rest_is_ready,
    what_was_never_made_is_not_left_over,
    two_writers_do_not_fight_for_ever,
    many_resources
);

/// SMITH-2, SMITH-5, SMITH-6, SMITH-8, SMITH-10, SMITH-14, B-SMITH-3: nothing is ready at once; objects of all kinds are made,
/// with values as text and as they are, and those of a Secret in a Secret.
async fn objects_are_made_of_each_other(shop: &Shop) {
    shop.write("empty", json!([])).await;
    assert_eq!(shop.ready("empty").await["status"]["ready"], "0/0");
    let bare =
        json!({ "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "Bundle", "metadata": { "name": "bare" } });
    shop.until("/api/v1/namespaces/shop/serviceaccounts/default", |_| true).await;
    shop.root.post(BUNDLES, &bare).await.expect(201);
    assert_eq!(shop.ready("bare").await["status"]["ready"], "0/0");

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

/// M-SMITH-4, M-SMITH-6, M-SMITH-9, D-SMITH-1, D-SMITH-2, D-SMITH-10, D-SMITH-11, D-SMITH-13, B-07: with braces, indexes and quoted keys,
/// several in one text, of resources with capitals in their names; dependencies may be inferred; an object may stand where Smith
/// had it in the end; and what takes the place of a reference is never read again.
async fn references_are_written_in_many_ways(shop: &Shop) {
    let first = sleeper("first", json!({ "count": 3, "hosts": [{ "name": "a" }, { "name": "b" }], "ratio": 0.5 }));
    let mut wanted = map(
        "many",
        json!({
            "braces": "$({DbClaim1.spec.count})", "index": "$(DbClaim1.spec.hosts[1].name)", "keys": "$(DbClaim1['spec'][\"ratio\"])",
            "several": "<$(DbClaim1.spec.hosts[0].name)|$(DbClaim1.spec.hosts[1].name)>", "dollars": "$5 $$ $$(x) $",
            "injected": "$(marked.data.text)",
        }),
    );
    wanted["metadata"]["labels"] = json!({ "example.dev/count": "$(DbClaim1.spec.count)" });
    let whole = sleeper("whole", json!({ "hosts": "$(({DbClaim1.spec.hosts}))" }));
    let mut bundle = crate::shop::bundle(
        "ways",
        json!([
            { "name": "DbClaim1", "spec": { "object": first } },
            part(&[], map("marked", json!({ "text": "$$(DbClaim1.spec.count) and $$((DbClaim1.spec))" }))),
            { "name": "many", "spec": wanted },
            { "name": "whole", "spec": whole },
        ]),
    );
    let refused = shop.root.post(BUNDLES, &bundle).await.expect(422);
    assert!(refused["message"].as_str().unwrap().contains("\"DbClaim1\" is not in dependsOn of \"many\""), "{refused}");
    bundle["spec"]["inferDependencies"] = json!(true);
    shop.root.post(BUNDLES, &bundle).await.expect(201);
    shop.says("ways", "many", "Blocked", "DependencyNotReady").await;
    shop.until(&format!("{SLEEPERS}/first"), |_| true).await;
    shop.wake("first", "").await;
    // What was created is the apply's a moment later.
    let applied = |field: &Value| field["manager"] == "bailiwick-bundle-controller" && field["operation"] == "Apply";
    let is_applied = |many: &Value| many["metadata"]["managedFields"].as_array().unwrap().iter().any(applied);
    let many = shop.until(&format!("{MAPS}/many"), is_applied).await;
    let injected = "$(DbClaim1.spec.count) and $((DbClaim1.spec))";
    assert_eq!(
        many["data"],
        json!({ "braces": "3", "index": "b", "keys": "0.5", "several": "<a|b>", "dollars": "$5 $$ $(x) $", "injected": injected })
    );
    assert_eq!(many["metadata"]["labels"]["example.dev/count"], "3");
    let whole = shop.until(&format!("{SLEEPERS}/whole"), |_| true).await;
    assert_eq!(whole["spec"]["hosts"], json!([{ "name": "a" }, { "name": "b" }]));
}

/// SMITH-9, SMITH-11, D-SMITH-13, P-9, P-10: what cannot be made says why, others go on, and what is not the Bundle's is left alone.
async fn trouble_stays_where_it_is(shop: &Shop) {
    shop.root.post(MAPS, &map("theirs", json!({ "whose": "theirs" }))).await.expect(201);
    let resources = json!([
        part(&[], sleeper("source", json!({ "list": [1] }))),
        part(&["source"], sleeper("typed", json!({ "text": "$(source.spec.list)" }))),
        part(&["source"], sleeper("fine", json!({ "list": "$((source.spec.list))" }))),
        part(&[], map("theirs", json!({ "whose": "mine" }))),
        part(&["theirs"], map("behind", json!({}))),
        { "name": "DbClaim1", "spec": sleeper("DbClaim1", json!({})) },
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
    // Resources may have capitals in their names, but few kinds of objects.
    let capitals = shop.says("mixed", "DbClaim1", "Error", "Invalid").await;
    assert!(capitals["message"].as_str().unwrap().contains("a lowercase RFC 1123 subdomain"), "{capitals}");
    let bundle = shop.bundle("mixed").await;
    assert_eq!(condition(&bundle, "Ready")["reason"], "ResourceError");
    // What is wanted and not there yet is nothing that would have to go.
    assert_eq!(condition(&bundle, "PruningComplete")["status"], "True", "{bundle:#}");
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

/// P-10, B-09: an object that another Bundle controls, or any other controller, is not taken over, whoever asks; it is said whose it
/// is, and it stays when the one who wanted it goes.
async fn what_another_controls_is_left_alone(shop: &Shop) {
    shop.write("owner", json!([part(&[], map("shared", json!({ "whose": "the first" })))])).await;
    shop.ready("owner").await;
    let before = shop.root.get(&format!("{MAPS}/shared")).await.expect(200);
    shop.write(
        "rival",
        json!([part(&[], map("shared", json!({ "whose": "the second" }))), part(&[], map("own", json!({})))]),
    )
    .await;
    let told = shop.says("rival", "shared", "Error", "NotOwned").await;
    assert_eq!(told["message"], "ConfigMap \"shared\" exists and is controlled by Bundle \"owner\"; it is left alone");
    shop.says("rival", "own", "Ready", "Ready").await;
    shop.root.delete(&format!("{BUNDLES}/rival")).await.expect(200);
    shop.gone(&format!("{BUNDLES}/rival")).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/own")).await.code, 404);
    assert_eq!(shop.root.get(&format!("{MAPS}/shared")).await.expect(200), before);
}

/// B-06, B-08, P-9: diamonds upon diamonds are 200 resources and not 2^99 ways; values that double with each of them come to an end
/// with an error that names the field and not the value; others go on, and who waits says so in few words.
async fn what_grows_without_end_is_stopped(shop: &Shop) {
    let layer = |number: usize| {
        let text = match number {
            0 => "x".repeat(1024),
            _ => format!("$(a{0}.data.x)$(b{0}.data.x)", number - 1),
        };
        let before: Vec<String> =
            if number == 0 { Vec::new() } else { ["a", "b"].map(|side| format!("{side}{}", number - 1)).into() };
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        ["a", "b"].map(|side| part(&before, map(&format!("{side}{number}"), json!({ "x": text }))))
    };
    let resources: Vec<Value> = (0..100).flat_map(layer).collect();
    shop.write("growing", json!(resources)).await;
    // 64 KiB each, which two have put together from halves; what they make of it is too much for the next.
    let told = shop.says("growing", "a8", "Error", "ValueTooLarge").await;
    let wanted = "a7.data.x, which is wanted in data.x, has more than the 65536 bytes that a reference can carry";
    assert_eq!(told["message"], wanted);
    let made = shop.root.get(&format!("{MAPS}/b7")).await.expect(200);
    assert_eq!(made["data"]["x"].as_str().unwrap().len(), 128 * 1024);
    shop.says("growing", "b99", "Blocked", "DependencyNotReady").await;
    let told = shop.bundle("growing").await;
    assert_eq!(told["status"]["ready"], "16/200");
    let size = told["status"].to_string().len();
    assert!(size < 200 * 1024, "{size} bytes are said of it");
}

/// P-1, D-SMITH-9, B-09: what is not wanted any more goes once the rest is ready, by its UID, and not before.
async fn what_is_not_wanted_goes_when_the_rest_is_ready(shop: &Shop) {
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

/// What was about to be made, and never was, is neither waited for nor said to have been deleted.
async fn what_was_never_made_is_not_left_over(shop: &Shop) {
    let asleep = || part(&[], sleeper("asleep", json!({})));
    let never = part(&["asleep"], map("never", json!({ "word": "$(asleep.status.message)" })));
    shop.write("hasty", json!([asleep(), never, part(&[], map("made", json!({})))])).await;
    shop.says("hasty", "made", "Ready", "Ready").await;
    shop.says("hasty", "never", "Blocked", "DependencyNotReady").await;
    shop.change("hasty", json!([asleep()])).await;
    let at = format!("{BUNDLES}/hasty");
    let waiting = shop.until(&at, |bundle| condition(bundle, "PruningComplete")["status"] == "False").await;
    let left = "not removed until all resources are ready: ConfigMap \"made\"";
    assert_eq!(condition(&waiting, "PruningComplete")["message"], left, "{waiting:#}");
    shop.wake("asleep", "").await;
    shop.until(&at, |bundle| condition(bundle, "PruningComplete")["status"] == "True").await;
    let events = "/api/v1/namespaces/shop/events?fieldSelector=reason=Pruned";
    let told = shop.until(events, |list| list.to_string().contains("ConfigMap \\\"made\\\"")).await;
    assert!(!told.to_string().contains("never"), "{told:#}");
}

/// P-8: what others change is put right, but not for ever; then it is said who it is, and left, however often it is looked at.
async fn two_writers_do_not_fight_for_ever(shop: &Shop) {
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
    for value in ["theirs", "still theirs"] {
        shop.apply(&path, "rival", &map("m", json!({ "v": value }))).await;
        sleep(LOOKED_AT_AGAIN + Duration::from_secs(3)).await;
        assert_eq!(shop.root.get(&path).await.expect(200)["data"]["v"], value, "it is left as it is");
        assert_eq!(resource(&shop.bundle("stubborn").await, "m")["reason"], "UpdateLoop");
    }
    // A change of the Bundle is a new beginning.
    shop.change("stubborn", json!([part(&[], map("m", json!({ "v": "newer" })))])).await;
    shop.ready("stubborn").await;
    assert_eq!(shop.root.get(&path).await.expect(200)["data"]["v"], "newer");
}

/// SMITH-15: independent resources do not wait for each other, and a bundle of 200 is made as well as one of two.
async fn many_resources(shop: &Shop) {
    let wide: Vec<Value> = (0..10).map(|number| part(&[], sleeper(&format!("s{number}"), json!({})))).collect();
    shop.write("wide", json!(wide)).await;
    for number in 0..10 {
        shop.until(&format!("{SLEEPERS}/s{number}"), |_| true).await;
    }
    shop.until(&format!("{BUNDLES}/wide"), |bundle| bundle["status"]["ready"] == "0/10").await;
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
