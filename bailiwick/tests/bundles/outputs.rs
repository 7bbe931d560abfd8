//! What resources put out and others use, with the sample kinds and their controller.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::shop::{BUNDLES, MAPS, SECRETS, Shop, map, part};
use crate::site::{Person, Site};

const CLAIMS: &str = "/apis/smith.atlassian.com/v1/namespaces/shop/resourceclaims";
const BINDINGS: &str = "/apis/smith.atlassian.com/v1/namespaces/shop/resourcebindings";

/// A server that stands alone, with the sample kinds and their controller beside it.
async fn shop_with_claims() -> (Shop, AbortOnDropHandle<()>) {
    // The sample kinds are in the group that is otherwise another name of Bundles'.
    let shop = Shop::open(Site::alone_with(&["--alias-groups=false"]).await).await;
    let definitions = include_str!("../../../examples/definitions.yaml");
    let folder = crate::process::folder();
    let file = folder.path().join("definitions.yaml");
    std::fs::write(&file, definitions).unwrap();
    let kubectl = shop.site.server.kubectl().await;
    let applied = kubectl.run(["apply", "-f", file.to_str().unwrap()]).await.unwrap();
    applied.success().unwrap();
    shop.served(CLAIMS).await;
    shop.served(BINDINGS).await;
    let controller =
        AbortOnDropHandle::new(tokio::spawn(bailiwick_examples::run(client(&shop.site.server.data).await)));
    (shop, controller)
}

/// A client as anyone would make it, from the administrator's kubeconfig.
async fn client(data: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(data.join("admin.kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn claim(spec: Value) -> Value {
    json!({ "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceClaim", "metadata": { "name": "db" }, "spec": spec })
}

/// The name of what the claim has put out, once it is another than before.
async fn output(shop: &Shop, before: &str) -> String {
    let binding =
        shop.until(&format!("{BINDINGS}/db"), |binding| binding["status"]["secretName"] != json!(before)).await;
    binding["status"]["secretName"].as_str().unwrap().to_owned()
}

/// SMITH-23, SMITH-24, SMITH-27, SMITH-28, SMITH-29, SMITH-32, SMITH-33, SMITH-34, SMITH-35, SMITH-37: the seed's example, in all
/// modes: the binding names what was put out, dependents have the name and the decoded contents.
#[tokio::test(flavor = "multi_thread")]
async fn names_and_contents_reach_dependents() {
    let (shop, _controller) = shop_with_claims().await;
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
    let first = output(&shop, "").await;
    let named = shop.root.get(&format!("{MAPS}/named")).await.expect(200);
    assert_eq!(named["data"], json!({ "secret": first, "again": first }));
    let secret = shop.root.get(&format!("{SECRETS}/{first}")).await.expect(200);
    assert_eq!((&secret["type"], &secret["data"]["password"]), (&json!("Opaque"), &json!("Z29kc2V4bG92ZQ==")));
    let copy = shop.root.get(&format!("{SECRETS}/copy")).await.expect(200);
    assert_eq!(copy["data"]["url"], "cG9zdGdyZXM6Ly9hZG1pbjpnb2RzZXhsb3ZlQGRi");

    // Another name: dependents follow, and the old one goes.
    let changed = json!({ "username": "admin", "password": "other" });
    shop.change("claiming", resources(json!({ "secretNameMode": "ContentsHash", "contents": changed }))).await;
    let second = output(&shop, &first).await;
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == json!(second)).await;
    shop.gone(&format!("{SECRETS}/{first}")).await;
    let used = json!([{ "resource": "db", "name": second }]);
    shop.until(&format!("{BUNDLES}/claiming"), |bundle| bundle["status"]["outputs"] == used).await;

    // A random name is another with each change of the contents.
    let more = json!({ "username": "admin", "password": "third" });
    shop.change("claiming", resources(json!({ "secretNameMode": "Random", "contents": more }))).await;
    let third = output(&shop, &second).await;
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == json!(third)).await;
    shop.change("claiming", resources(json!({ "secretNameMode": "Random", "contents": contents }))).await;
    let fourth = output(&shop, &third).await;
    assert!(fourth != third && third != second);
    shop.gone(&format!("{SECRETS}/{third}")).await;

    shop.change(
        "claiming",
        resources(json!({ "secretNameMode": "Fixed", "secretName": "my-secret", "contents": contents })),
    )
    .await;
    assert_eq!(output(&shop, &fourth).await, "my-secret");
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == "my-secret").await;
    // Contents that change in place reach dependents as well.
    shop.change(
        "claiming",
        resources(json!({ "secretNameMode": "Fixed", "secretName": "my-secret", "contents": changed })),
    )
    .await;
    shop.until(&format!("{SECRETS}/copy"), |copy| copy["data"]["url"] == "cG9zdGdyZXM6Ly9hZG1pbjpvdGhlckBkYg==").await;

    // Without a name there is no fixed one.
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

/// SMITH-26, SMITH-31, B-SMITH-1: what is put out is there before it is named; and at no moment does a dependent name something
/// that is not there, however often it changes.
#[tokio::test(flavor = "multi_thread")]
async fn outputs_roll_over_safely() {
    let (shop, _controller) = shop_with_claims().await;
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
    let left = shop.until(&selected, |list| list["items"].as_array().is_some_and(|items| items.len() == 1)).await;
    let current = shop.until(&format!("{BINDINGS}/db"), |_| true).await;
    assert_eq!(left["items"][0]["metadata"]["name"], current["status"]["secretName"]);
    shop.until(&format!("{MAPS}/named"), |named| named["data"]["secret"] == current["status"]["secretName"]).await;
}
