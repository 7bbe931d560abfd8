//! When a resource is ready.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::shop::{BUNDLES, LOOKED_AT_AGAIN, MAPS, SLEEPERS, Shop, bundle, map, part, sleeper};
use crate::site::Mode;

in_both_modes!(
    by_a_field_of_the_object,
    by_an_object_that_it_owns,
    by_an_object_of_a_kind_that_comes_later,
    by_rules_and_by_conventions,
    by_what_our_own_kinds_say,
    slow_failing_and_flapping_dependencies,
    what_is_done_to_what_waits,
    a_dependency_that_gives_up,
);

/// Within which time a Bundle continues when what it waits for is there.
const PROMPTLY: Duration = Duration::from_secs(1);
const CLAIMS: &str = "/apis/claims.example.dev/v1/namespaces/shop/claims";
const BINDINGS: &str = "/apis/claims.example.dev/v1/namespaces/shop/bindings";

/// SMITH-16, SMITH-17, SMITH-18, SMITH-19, D-SMITH-8, M-SMITH-6: by a field, whatever its type and however its path is written, if both annotations are there, and by conventions otherwise.
async fn by_a_field_of_the_object(shop: &Shop) {
    let annotated = json!({
        "smith.atlassian.com/TprReadyWhenFieldPath": "status.state", "smith.atlassian.com/TprReadyWhenFieldValue": "Ready",
    });
    shop.define("smith.example.dev", "CloudFormation", annotated).await;
    shop.define("smith.example.dev", "Half", json!({ "smith.atlassian.com/TprReadyWhenFieldPath": "status.state" }))
        .await;
    shop.define(
        "smith.example.dev",
        "Short",
        json!({ "smith.a.c/TprReadyWhenFieldPath": "x", "smith.a.c/TprReadyWhenFieldValue": "y" }),
    )
    .await;
    let spelled = |path: &str, value: &str| json!({ "smith.atlassian.com/CrReadyWhenFieldPath": path, "smith.atlassian.com/CrReadyWhenFieldValue": value });
    shop.define("smith.example.dev", "Counted", spelled("{$.status.counts[0]}", "3")).await;
    shop.define("smith.example.dev", "Switched", spelled("status['on']", "true")).await;
    let object = |kind: &str, name: &str| {
        json!({
            "apiVersion": "smith.example.dev/v1", "kind": kind, "metadata": { "name": name }, "spec": {},
        })
    };
    let resources = json!([
        part(&[], object("CloudFormation", "cfn-1")),
        part(&["cfn-1"], map("after", json!({}))),
        part(&[], object("Half", "half")),
        part(&[], object("Short", "short")),
        part(&[], object("Counted", "counted")),
        part(&[], object("Switched", "switched")),
    ]);
    shop.write("stack", resources).await;
    let path = "/apis/smith.example.dev/v1/namespaces/shop/cloudformations/cfn-1";
    shop.until(path, |_| true).await;
    shop.set_status(path, json!({ "state": "Creating" })).await;
    let told = shop
        .until(&format!("{BUNDLES}/stack"), |bundle| {
            crate::shop::resource(bundle, "cfn-1")["message"].to_string().contains("Creating")
        })
        .await;
    assert_eq!(crate::shop::resource(&told, "after")["phase"], "Blocked");
    // What was not made yet is not left over.
    assert_eq!(crate::shop::condition(&told, "PruningComplete")["reason"], "Complete");
    let half = shop.says("stack", "half", "Error", "InvalidTypeAnnotations").await;
    assert!(half["message"].as_str().unwrap().contains("TprReadyWhenFieldValue"), "{half}");
    shop.says("stack", "short", "Ready", "Ready").await;
    shop.set_status(path, json!({ "state": "Ready" })).await;
    shop.until(&format!("{MAPS}/after"), |_| true).await;
    let ours = "/apis/smith.example.dev/v1/namespaces/shop";
    for (plural, name, not_yet, ready) in [
        ("counteds", "counted", json!({ "counts": [2] }), json!({ "counts": [3] })),
        ("switcheds", "switched", json!({ "on": false }), json!({ "on": true })),
    ] {
        shop.set_status(&format!("{ours}/{plural}/{name}"), not_yet).await;
        shop.says("stack", name, "InProgress", "NotReady").await;
        shop.set_status(&format!("{ours}/{plural}/{name}"), ready).await;
        shop.says("stack", name, "Ready", "Ready").await;
    }
}

/// SMITH-20, SMITH-21, SMITH-22, M-SMITH-1: by an object that exists in the same namespace, and that it owns.
async fn by_an_object_that_it_owns(shop: &Shop) {
    let annotated = json!({
        "smith.atlassian.com/CrReadyWhenExistsKind": "Binding", "smith.atlassian.com/CrReadyWhenExistsVersion": "claims.example.dev/v1",
    });
    shop.define("claims.example.dev", "Binding", json!({})).await;
    shop.define("claims.example.dev", "Claim", annotated).await;
    let claim = |name: &str| json!({ "apiVersion": "claims.example.dev/v1", "kind": "Claim", "metadata": { "name": name }, "spec": {} });
    let after = part(&["db"], map("after", json!({ "host": "$(db:binding.status.host)" })));
    let names = ["db", "db-2", "db-3"];
    let claims = names.map(|name| part(&[], claim(name)));
    shop.write("claiming", claims.into_iter().chain([after]).collect()).await;
    let waiting = shop.says("claiming", "db", "InProgress", "NotReady").await;
    assert!(waiting["message"].as_str().unwrap().contains("no Binding exists"), "{waiting}");
    let binding = |name: &str, claim: &str, uid: &str| {
        json!({
            "apiVersion": "claims.example.dev/v1", "kind": "Binding", "metadata": { "name": name, "ownerReferences": [{
                "apiVersion": "claims.example.dev/v1", "kind": "Claim", "name": claim, "uid": uid,
            }] },
        })
    };
    let uid_of = async |name: &str| {
        let claim = shop.until(&format!("{CLAIMS}/{name}"), |_| true).await;
        claim["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let uid = uid_of("db").await;
    let elsewhere = BINDINGS.replace("/shop/", "/default/");
    shop.root.post(&elsewhere, &binding("elsewhere", "db", &uid)).await.expect(201);
    shop.root.post(BINDINGS, &binding("other", "db", "038b49a6-e746-11e6-baf3-ee8d75af8f6e")).await.expect(201);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404);
    let mut times = Vec::new();
    for name in names {
        let right = binding(&format!("right-{name}"), name, &uid_of(name).await);
        shop.root.post(BINDINGS, &right).await.expect(201);
        let began = Instant::now();
        shop.says("claiming", name, "Ready", "Ready").await;
        times.push(began.elapsed());
    }
    // Whoever looks from time to time looks once in that time, and not three times.
    assert!(times.iter().sum::<Duration>() < LOOKED_AT_AGAIN, "nobody was told of it: {times:?}");
    if shop.site.mode == Mode::Alone {
        // Nobody else takes any of it, and what keeps the machine from one keeps it from few of the others.
        assert!(times.iter().any(|time| *time < PROMPTLY), "{times:?}");
    }
    shop.says("claiming", "after", "Blocked", "FieldMissing").await;
    shop.set_status(&format!("{BINDINGS}/right-db"), json!({ "host": "db.example.dev" })).await;
    shop.until(&format!("{MAPS}/after"), |map| map["data"]["host"] == "db.example.dev").await;
    shop.set_status(&format!("{BINDINGS}/right-db"), json!({ "host": "db2.example.dev" })).await;
    shop.until(&format!("{MAPS}/after"), |map| map["data"]["host"] == "db2.example.dev").await;
}

/// SMITH-20: the kind of what must exist may come later than what waits for it, and in a group of which the Bundle has nothing.
async fn by_an_object_of_a_kind_that_comes_later(shop: &Shop) {
    let annotated = json!({
        "smith.atlassian.com/CrReadyWhenExistsKind": "Proof", "smith.atlassian.com/CrReadyWhenExistsVersion": "proofs.example.dev/v1",
    });
    shop.define("theorems.example.dev", "Theorem", annotated).await;
    let theorem =
        json!({ "apiVersion": "theorems.example.dev/v1", "kind": "Theorem", "metadata": { "name": "t" }, "spec": {} });
    shop.write("proving", json!([part(&[], theorem)])).await;
    let theorem = shop.until("/apis/theorems.example.dev/v1/namespaces/shop/theorems/t", |_| true).await;
    let waiting = shop.says("proving", "t", "InProgress", "NotReady").await;
    assert!(waiting["message"].as_str().unwrap().contains("does not serve"), "{waiting}");
    shop.define("proofs.example.dev", "Proof", json!({})).await;
    let proof = json!({
        "apiVersion": "proofs.example.dev/v1", "kind": "Proof", "metadata": { "name": "p", "ownerReferences": [{
            "apiVersion": "theorems.example.dev/v1", "kind": "Theorem", "name": "t", "uid": theorem["metadata"]["uid"],
        }] },
    });
    shop.root.post("/apis/proofs.example.dev/v1/namespaces/shop/proofs", &proof).await.expect(201);
    shop.says("proving", "t", "Ready", "Ready").await;
}

/// M-SMITH-2, M-SMITH-3: by a rule, for kinds that one cannot annotate; and by the usual conditions.
async fn by_rules_and_by_conventions(shop: &Shop) {
    let rules = "/apis/bundle.bailiwick.dev/v1alpha1/readinessrules";
    let rule = |spec: serde_json::Value| {
        json!({
            "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "ReadinessRule", "metadata": { "name": "rule" }, "spec": spec,
        })
    };
    let selector = json!({ "group": "others.example.dev", "kind": "Foreign" });
    for wrong in [
        json!({ "selector": selector }),
        json!({ "selector": selector, "path": "a" }),
        json!({ "selector": selector, "path": "a..b", "value": "x" }),
        json!({ "selector": selector, "path": "a", "value": "x", "condition": "Ready" }),
    ] {
        shop.root.post(rules, &rule(wrong)).await.expect(422);
    }
    shop.define("others.example.dev", "Foreign", json!({})).await;
    let foreign =
        json!({ "apiVersion": "others.example.dev/v1", "kind": "Foreign", "metadata": { "name": "f" }, "spec": {} });
    shop.write("ruled", json!([part(&[], foreign)])).await;
    shop.ready("ruled").await;
    shop.root
        .post(rules, &rule(json!({ "selector": selector, "path": "{$.status.phase}", "value": "Bound" })))
        .await
        .expect(201);
    shop.says("ruled", "f", "InProgress", "NotReady").await;
    let path = "/apis/others.example.dev/v1/namespaces/shop/foreigns/f";
    shop.set_status(path, json!({ "phase": "Bound" })).await;
    shop.ready("ruled").await;
    let condition = json!({ "spec": { "path": null, "value": null, "condition": "Synced" } });
    shop.root.merge(&format!("{rules}/rule"), &condition).await.expect(200);
    shop.says("ruled", "f", "InProgress", "NotReady").await;
    shop.set_status(
        path,
        json!({ "conditions": [{ "type": "Synced", "status": "True" }, { "type": "Ready", "status": "False" }] }),
    )
    .await;
    shop.ready("ruled").await;
    shop.root.delete(&format!("{rules}/rule")).await.expect(200);
    let told = shop.says("ruled", "f", "InProgress", "NotReady").await;
    assert!(told["message"].as_str().unwrap().contains("Ready is not True"), "{told}");
}

/// M-SMITH-1, M-SMITH-3: objects of our own kinds say themselves when they are ready, and a Bundle in a Bundle is one of them. It
/// goes with the other as it would alone.
async fn by_what_our_own_kinds_say(shop: &Shop) {
    let mut kept = part(&["s"], map("kept", json!({})));
    kept["lifecycle"] = json!("Orphan");
    let inner = bundle("inner", json!([part(&[], sleeper("s", json!({}))), kept]));
    // It takes nothing from the other, so that nothing but its readiness keeps it waiting.
    let after = part(&["inner"], map("after", json!({ "x": "1" })));
    let told = part(&["inner"], map("told", json!({ "ready": "$(inner.status.ready)" })));
    shop.write("outer", json!([part(&[], inner), after, told])).await;
    shop.until(&format!("{SLEEPERS}/s"), |_| true).await;
    let path = format!("{BUNDLES}/outer");
    let waiting = shop.until(&path, |outer| {
        let message = outer["status"]["resources"][0]["message"].as_str().unwrap_or_default();
        message.contains("Ready is not True")
    });
    waiting.await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404, "it was made before the other was ready");
    shop.wake("s", "").await;
    shop.until(&format!("{MAPS}/told"), |told| told["data"]["ready"] == "2/2").await;
    shop.until(&format!("{MAPS}/after"), |_| true).await;
    shop.root.delete(&format!("{BUNDLES}/outer")).await.expect(200);
    shop.gone(&format!("{BUNDLES}/outer")).await;
    for path in [format!("{BUNDLES}/inner"), format!("{SLEEPERS}/s"), format!("{MAPS}/after")] {
        assert_eq!(shop.root.get(&path).await.code, 404, "{path}");
    }
    assert_eq!(shop.root.get(&format!("{MAPS}/kept")).await.expect(200)["metadata"]["ownerReferences"], json!(null));
}

/// A dependency that takes its time is waited for, one that fails says so and can recover, and one that comes and goes makes
/// nothing twice: what was made stays as it is while the dependency is not ready, and follows when it is.
async fn slow_failing_and_flapping_dependencies(shop: &Shop) {
    let rule = json!({
        "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "ReadinessRule", "metadata": { "name": "engines" },
        "spec": { "selector": { "group": "moody.example.dev", "kind": "Engine" }, "condition": "Running" },
    });
    shop.define("moody.example.dev", "Engine", json!({})).await;
    shop.root.post("/apis/bundle.bailiwick.dev/v1alpha1/readinessrules", &rule).await.expect(201);
    let engine =
        json!({ "apiVersion": "moody.example.dev/v1", "kind": "Engine", "metadata": { "name": "e" }, "spec": {} });
    let resources = json!([
        part(&[], engine),
        part(&["e"], map("after", json!({ "speed": "$(e.status.speed)" }))),
        part(&[], map("beside", json!({})))
    ]);
    shop.write("moody", resources).await;
    let path = "/apis/moody.example.dev/v1/namespaces/shop/engines/e";
    let says = async |running: &str, speed: &str| {
        let condition = json!([{
            "type": "Running", "status": running, "reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]);
        shop.set_status(path, json!({ "conditions": condition, "speed": speed })).await;
    };
    // Slow: it has begun, others are made, and who waits says for what and since when.
    shop.says("moody", "beside", "Ready", "Ready").await;
    says("Unknown", "1").await;
    let slow = shop.says("moody", "after", "Blocked", "DependencyNotReady").await;
    assert!(slow["message"].as_str().unwrap().contains("\"e\"") && slow["since"].is_string(), "{slow}");
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404);
    // Failing, and better again.
    says("False", "1").await;
    shop.says("moody", "e", "InProgress", "NotReady").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404);
    says("True", "1").await;
    let ready = shop.ready("moody").await;
    assert_eq!(ready["status"]["ready"], "3/3");
    let made = shop.root.get(&format!("{MAPS}/after")).await.expect(200);
    // Flapping: while it is away nothing is taken away or changed; when it is back, what it says counts.
    for round in 2..8 {
        says("False", &round.to_string()).await;
        if round % 2 == 0 {
            shop.says("moody", "after", "Blocked", "DependencyNotReady").await;
            let speed = (round - 1).to_string();
            assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.expect(200)["data"]["speed"], json!(speed));
        }
        says("True", &round.to_string()).await;
        shop.until(&format!("{MAPS}/after"), |after| after["data"]["speed"] == json!(round.to_string())).await;
    }
    shop.ready("moody").await;
    let after = shop.root.get(&format!("{MAPS}/after")).await.expect(200);
    assert_eq!(after["metadata"]["uid"], made["metadata"]["uid"], "it was never made anew");
}

/// P-8: what others do to an object while it waits for a dependency is put right once the dependency is ready again, though what
/// the object should be is as before.
async fn what_is_done_to_what_waits(shop: &Shop) {
    let after = |name: &str| part(&["first"], map(name, json!({ "word": "$(first.status.message)" })));
    let first = part(&[], sleeper("first", json!({})));
    shop.write("patient", json!([first, after("lost"), after("changed"), part(&[], map("beside", json!({})))])).await;
    shop.until(&format!("{SLEEPERS}/first"), |_| true).await;
    shop.wake("first", "one").await;
    shop.ready("patient").await;
    shop.set_status(&format!("{SLEEPERS}/first"), json!({ "state": "Asleep" })).await;
    for name in ["lost", "changed"] {
        shop.says("patient", name, "Blocked", "DependencyNotReady").await;
    }
    shop.root.delete(&format!("{MAPS}/lost")).await.expect(200);
    shop.root.merge(&format!("{MAPS}/changed"), &json!({ "data": { "word": "two" } })).await.expect(200);
    // Whoever hears of it now waits all the same.
    tokio::time::sleep(Duration::from_millis(300)).await;
    shop.wake("first", "one").await;
    shop.ready("patient").await;
    for name in ["lost", "changed"] {
        assert_eq!(shop.root.get(&format!("{MAPS}/{name}")).await.expect(200)["data"]["word"], "one", "{name}");
    }
}

/// A dependency that says itself that it has failed is an error, with its reason; others go on, who waits says for what, and when
/// it is well again, or has been replaced by what can be, everything is made.
async fn a_dependency_that_gives_up(shop: &Shop) {
    shop.define("frail.example.dev", "Pump", json!({})).await;
    let pump = json!({ "apiVersion": "frail.example.dev/v1", "kind": "Pump", "metadata": { "name": "p" }, "spec": { "size": 1 } });
    let resources = json!([
        part(&[], pump),
        part(&["p"], map("after", json!({ "size": "$(p.spec.size)" }))),
        part(&[], map("beside", json!({})))
    ]);
    let path = "/apis/frail.example.dev/v1/namespaces/shop/pumps/p";
    let says = async |conditions: &[(&str, &str, &str)]| {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(kind, status, reason)| {
                json!({
                    "type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
                })
            })
            .collect();
        shop.set_status(path, json!({ "conditions": conditions })).await;
    };
    // A kind of which nothing is said is ready as soon as it exists, unless it says otherwise.
    shop.write("frail", resources.clone()).await;
    shop.ready("frail").await;
    says(&[("Stalled", "True", "NoPower"), ("Ready", "False", "NoPower")]).await;
    let failed = shop.says("frail", "p", "Error", "Failed").await;
    assert_eq!(failed["message"], "the condition Stalled is True (NoPower)");
    let waits = shop.says("frail", "after", "Blocked", "DependencyNotReady").await;
    assert!(
        waits["message"].as_str().unwrap().contains("\"p\" (Error: the condition Stalled is True (NoPower))"),
        "{waits}"
    );
    let told = shop.bundle("frail").await;
    assert_eq!(crate::shop::condition(&told, "Ready")["reason"], "ResourceError");
    assert_eq!(crate::shop::resource(&told, "beside")["phase"], "Ready");
    let mut larger = resources;
    larger[0]["spec"]["spec"]["size"] = json!(2);
    shop.change("frail", larger).await;
    shop.until(path, |pump| pump["spec"]["size"] == 2).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.expect(200)["data"]["size"], "1");
    says(&[("Stalled", "False", "Power"), ("Ready", "True", "Power")]).await;
    shop.ready("frail").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.expect(200)["data"]["size"], "2");
}
