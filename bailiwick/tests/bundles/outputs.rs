//! What resources put out and others use, with the sample kinds and their controller.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::shop::{BINDINGS, BUNDLES, CLAIMS, MAPS, SECRETS, SLEEPERS, Shop, map, part, secret, sleeper};
use crate::site::Person;

in_both_modes!(with crate::shop::Shop::open_with_claims:
    names_and_contents_reach_dependents,
    outputs_roll_over_safely,
    what_still_names_an_output_keeps_it,
    what_has_dropped_an_output_and_waits_keeps_it,
    what_is_lost_is_put_out_again,
);

fn claim(spec: Value) -> Value {
    json!({ "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceClaim", "metadata": { "name": "db" }, "spec": spec })
}

/// The name of what the claim has put out, once it is another than before.
async fn output(shop: &Shop, before: &str) -> String {
    let binding =
        shop.until(&format!("{BINDINGS}/db"), |binding| binding["status"]["secretName"] != json!(before)).await;
    binding["status"]["secretName"].as_str().unwrap().to_owned()
}

/// SMITH-23, SMITH-24, SMITH-25, SMITH-27, SMITH-28, SMITH-29, SMITH-30, SMITH-32, SMITH-33, SMITH-34, SMITH-35, SMITH-37, D-SMITH-4:
/// the seed's example, in all modes: the binding names what was put out, dependents have the name and the decoded contents.
async fn names_and_contents_reach_dependents(shop: &Shop) {
    let resources = |spec: Value| {
        json!([
            part(&[], claim(spec)),
            part(
                &["db"],
                map(
                    "named",
                    json!({ "secret": "$(db:binding.status.secretName)", "again": "$(db:output.metadata.name)" })
                )
            ),
            part(
                &["db"],
                json!({
                    "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "copy" },
                    "stringData": { "url": "postgres://$(db:output.data.username):$(db:output.data.password)@db" },
                })
            ),
        ])
    };
    let contents = json!({ "username": "admin", "password": "godsexlove" });
    shop.write("claiming", resources(json!({ "secretNameMode": "ContentsHash", "contents": contents }))).await;
    shop.ready("claiming").await;
    let first = output(shop, "").await;
    let named = shop.root.get(&format!("{MAPS}/named")).await.expect(200);
    assert_eq!(named["data"], json!({ "secret": first, "again": first }));
    let secret = shop.root.get(&format!("{SECRETS}/{first}")).await.expect(200);
    assert_eq!((&secret["type"], &secret["data"]["password"]), (&json!("Opaque"), &json!("Z29kc2V4bG92ZQ==")));
    let copy = shop.root.get(&format!("{SECRETS}/copy")).await.expect(200);
    assert_eq!(copy["data"]["url"], "cG9zdGdyZXM6Ly9hZG1pbjpnb2RzZXhsb3ZlQGRi");

    // Another name: dependents follow, and the old one goes.
    let changed = json!({ "username": "admin", "password": "other" });
    shop.change("claiming", resources(json!({ "secretNameMode": "ContentsHash", "contents": changed }))).await;
    let second = output(shop, &first).await;
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == json!(second)).await;
    shop.gone(&format!("{SECRETS}/{first}")).await;
    let used = json!([{ "resource": "db", "name": second }]);
    shop.until(&format!("{BUNDLES}/claiming"), |bundle| bundle["status"]["outputs"] == used).await;

    // A random name is another with each change of the contents.
    let more = json!({ "username": "admin", "password": "third" });
    shop.change("claiming", resources(json!({ "secretNameMode": "Random", "contents": more }))).await;
    let third = output(shop, &second).await;
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == json!(third)).await;
    shop.change("claiming", resources(json!({ "secretNameMode": "Random", "contents": contents }))).await;
    let fourth = output(shop, &third).await;
    assert!(fourth != third && third != second);
    shop.gone(&format!("{SECRETS}/{third}")).await;

    shop.change(
        "claiming",
        resources(json!({ "secretNameMode": "Fixed", "secretName": "my-secret", "contents": contents })),
    )
    .await;
    assert_eq!(output(shop, &fourth).await, "my-secret");
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == "my-secret").await;
    // Contents that change in place reach dependents as well.
    shop.change(
        "claiming",
        resources(json!({ "secretNameMode": "Fixed", "secretName": "my-secret", "contents": changed })),
    )
    .await;
    shop.until(&format!("{SECRETS}/copy"), |copy| copy["data"]["url"] == "cG9zdGdyZXM6Ly9hZG1pbjpvdGhlckBkYg==").await;

    // What is put out may be a ConfigMap, and nothing else; without a name there is no fixed one.
    let open = json!({ "secretNameMode": "ContentsHash", "outputKind": "ConfigMap", "contents": { "host": "db" } });
    let named = part(&["db"], map("named", json!({ "host": "$(db:binding.status.secretName)" })));
    shop.change("claiming", json!([part(&[], claim(open)), named])).await;
    let put_out = output(shop, "my-secret").await;
    let made = shop.root.get(&format!("{MAPS}/{put_out}")).await.expect(200);
    assert_eq!(made["data"], json!({ "host": "db" }));
    shop.change("claiming", resources(json!({ "outputKind": "Pod", "contents": changed }))).await;
    shop.until(&format!("{CLAIMS}/db"), |claim| {
        claim["status"]["error"].to_string().contains("must be Secret or ConfigMap")
    })
    .await;
    shop.change("claiming", resources(json!({ "secretNameMode": "Fixed", "secretName": null, "contents": changed })))
        .await;
    shop.until(&format!("{CLAIMS}/db"), |claim| {
        claim["status"]["error"].to_string().contains("spec.secretName must be given")
    })
    .await;
}

/// Looks at everything that names an output, until one names something that is not there.
async fn names_what_is_not_there(root: Person) -> String {
    let name = async |path: &str| {
        let answer = root.get(path).await.json();
        let name = answer.pointer("/data/secret").or(answer.pointer("/status/secretName")).and_then(Value::as_str);
        name.map(str::to_owned)
    };
    loop {
        for path in [format!("{MAPS}/named"), format!("{MAPS}/also"), format!("{BINDINGS}/db")] {
            let Some(named) = name(&path).await else { continue };
            // What it named may have been let go between the questions, but then it names something else.
            let is_there = root.get(&format!("{SECRETS}/{named}")).await.code == 200;
            if !is_there && name(&path).await.as_ref() == Some(&named) {
                return format!("{path} names {named}");
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// SMITH-26, SMITH-31, SMITH-36, B-SMITH-1, D-SMITH-6, D-SMITH-7: what a claim puts out that says nothing of names is there before it
/// is named; at no moment does a dependent name something that is not there, however often it changes; and in the end its
/// controller has removed what is old.
async fn outputs_roll_over_safely(shop: &Shop) {
    let resources = |number: usize| {
        json!([
            part(&[], claim(json!({ "contents": { "number": number.to_string() } }))),
            part(&["db"], map("named", json!({ "secret": "$(db:binding.status.secretName)" }))),
            part(&["db"], map("also", json!({ "secret": "$(db:output.metadata.name)" }))),
        ])
    };
    shop.write("rolling", resources(0)).await;
    shop.ready("rolling").await;
    let watcher = AbortOnDropHandle::new(tokio::spawn(names_what_is_not_there(shop.root.clone())));
    for number in 1..=10 {
        shop.change("rolling", resources(number)).await;
        if number % 3 == 0 {
            shop.ready("rolling").await;
        }
    }
    shop.ready("rolling").await;
    assert!(!watcher.is_finished(), "{:?}", watcher.await);
    let claim = shop.root.get(&format!("{CLAIMS}/db")).await.expect(200);
    let uid = claim["metadata"]["uid"].as_str().unwrap();
    let selected = format!("{SECRETS}?labelSelector=resource-claims.example.dev/claim={uid}");
    // A Bundle is ready by what its claim put out last; the claim may be about to put out the last contents.
    let is_last = |list: &Value| {
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        items.len() == 1 && items[0]["data"]["number"] == STANDARD.encode("10")
    };
    let left = shop.until(&selected, is_last).await;
    let current = shop.until(&format!("{BINDINGS}/db"), |_| true).await;
    assert_eq!(left["items"][0]["metadata"]["name"], current["status"]["secretName"]);
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == current["status"]["secretName"]).await;
}

/// B-SMITH-1, D-SMITH-6: an old output stays for as long as an object of the Bundle names it: one that got the name from another
/// object, and waits for that; and one that was taken out of the Bundle, and is not gone yet.
async fn what_still_names_an_output_keeps_it(shop: &Shop) {
    let contents = |number: &str| part(&[], claim(json!({ "contents": { "number": number } })));
    // It is ready when it says so of the state in which it is.
    let says = async |state: &str, name: &str| {
        shop.until(&format!("{SLEEPERS}/middle"), |middle| middle["spec"]["secret"] == json!(name)).await;
        shop.set_status(&format!("{SLEEPERS}/middle"), json!({ "state": state })).await;
    };
    let middle = || part(&["db"], sleeper("middle", json!({ "secret": "$(db:binding.status.secretName)" })));
    let end = || part(&["middle"], map("end", json!({ "secret": "$(middle.spec.secret)" })));
    shop.write("kept", json!([contents("1"), middle(), end()])).await;
    shop.until(&format!("{SLEEPERS}/middle"), |_| true).await;
    let first = output(shop, "").await;
    says("Awake", &first).await;
    shop.ready("kept").await;
    says("Asleep", &first).await;
    shop.says("kept", "end", "Blocked", "DependencyNotReady").await;
    shop.change("kept", json!([contents("2"), middle(), end()])).await;
    let second = output(shop, &first).await;
    says("Asleep", &second).await;
    let names = |bundle: &Value| bundle["status"]["outputs"].to_string();
    let at = format!("{BUNDLES}/kept");
    shop.until(&at, |bundle| names(bundle).contains(&second)).await;
    sleep(Duration::from_secs(1)).await;
    let told = shop.bundle("kept").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/end")).await.expect(200)["data"]["secret"], json!(first));
    assert!(names(&told).contains(&first), "{told:#}");
    shop.root.get(&format!("{SECRETS}/{first}")).await.expect(200);
    says("Awake", &second).await;
    shop.until(&format!("{MAPS}/end"), |end| end["data"]["secret"] == json!(second)).await;
    shop.gone(&format!("{SECRETS}/{first}")).await;

    // Taken out while the rest is not ready.
    let beside = part(&[], sleeper("beside", json!({})));
    shop.change("kept", json!([contents("3"), beside])).await;
    let third = output(shop, &second).await;
    sleep(Duration::from_secs(1)).await;
    let told = shop.bundle("kept").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/end")).await.expect(200)["data"]["secret"], json!(second));
    assert!(names(&told).contains(&second), "{told:#}");
    shop.root.get(&format!("{SECRETS}/{second}")).await.expect(200);
    shop.wake("beside", "").await;
    shop.gone(&format!("{MAPS}/end")).await;
    shop.gone(&format!("{SECRETS}/{second}")).await;
    shop.root.get(&format!("{SECRETS}/{third}")).await.expect(200);
}

/// B-SMITH-1, SMITH-31: what counts is what objects are, not what they should be. One that is to name an output no more, and waits
/// for something else, keeps it; so does one that has the name from an object which has it no more, in a Secret as well.
async fn what_has_dropped_an_output_and_waits_keeps_it(shop: &Shop) {
    let contents = |number: &str| part(&[], claim(json!({ "contents": { "number": number } })));
    let gate = || part(&[], sleeper("gate", json!({})));
    let named = |text: &str, depends_on: &[&str]| part(depends_on, map("named", json!({ "secret": text })));
    let middle = |text: &str, depends_on: &[&str]| part(depends_on, sleeper("middle", json!({ "secret": text })));
    let end = || {
        let spec = secret("end", json!({ "file": "/etc/$(middle.spec.secret)/password" }));
        part(&["middle"], spec)
    };
    let name = "$(db:binding.status.secretName)";
    let before = [contents("1"), gate(), named(name, &["db", "gate"]), middle(name, &["db"]), end()];
    shop.write("dropping", json!(before)).await;
    shop.until(&format!("{SLEEPERS}/gate"), |_| true).await;
    shop.wake("gate", "").await;
    shop.until(&format!("{SLEEPERS}/middle"), |_| true).await;
    shop.wake("middle", "").await;
    shop.ready("dropping").await;
    let first = output(shop, "").await;

    for asleep in ["gate", "middle"] {
        shop.set_status(&format!("{SLEEPERS}/{asleep}"), json!({ "state": "Asleep" })).await;
    }
    shop.says("dropping", "named", "Blocked", "DependencyNotReady").await;
    shop.says("dropping", "end", "Blocked", "DependencyNotReady").await;
    shop.change("dropping", json!([contents("2"), gate(), named("none", &["gate"]), middle("none", &[]), end()])).await;
    let second = output(shop, &first).await;
    let is_kept = async || {
        shop.until(&format!("{BUNDLES}/dropping"), |bundle| {
            bundle["status"]["observedGeneration"] == bundle["metadata"]["generation"]
        })
        .await;
        sleep(Duration::from_secs(1)).await;
        let told = shop.bundle("dropping").await;
        let listed = json!({ "resource": "db", "name": first });
        assert!(told["status"]["outputs"].as_array().unwrap().contains(&listed), "{told:#}");
        shop.root.get(&format!("{SECRETS}/{first}")).await.expect(200);
    };
    shop.until(&format!("{SLEEPERS}/middle"), |middle| middle["spec"]["secret"] == "none").await;
    is_kept().await;
    assert_eq!(shop.root.get(&format!("{MAPS}/named")).await.expect(200)["data"]["secret"], json!(first));
    // The one is what it should be, and the other still waits.
    shop.wake("gate", "").await;
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == "none").await;
    is_kept().await;
    // Whoever takes the name out by hand is heard.
    shop.root.merge(&format!("{SECRETS}/end"), &json!({ "stringData": { "file": "nothing" } })).await.expect(200);
    shop.gone(&format!("{SECRETS}/{first}")).await;
    shop.wake("middle", "").await;
    shop.ready("dropping").await;
    assert_eq!(shop.root.get(&format!("{SECRETS}/end")).await.expect(200)["data"]["file"], "L2V0Yy9ub25lL3Bhc3N3b3Jk");
    shop.root.get(&format!("{SECRETS}/{second}")).await.expect(200);
}

/// What was put out and is lost is put out again, and whoever needs it hears of it, though its name is as before.
async fn what_is_lost_is_put_out_again(shop: &Shop) {
    let copy = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "copy" },
        "stringData": { "word": "$(db:output.data.word)" },
    });
    shop.write("losing", json!([part(&[], claim(json!({ "contents": { "word": "one" } }))), part(&["db"], copy)]))
        .await;
    shop.ready("losing").await;
    let name = output(shop, "").await;
    let path = format!("{SECRETS}/{name}");
    let lost = shop.root.get(&path).await.expect(200);
    shop.root.delete(&path).await.expect(200);
    shop.until(&path, |found| found["metadata"]["uid"] != lost["metadata"]["uid"]).await;
    shop.ready("losing").await;
}
