//! Claims that someone outside of the server realizes.

use serde_json::{Value, json};

#[path = "../../../controllers/examples/realize_extension.rs"]
#[allow(dead_code, reason = "the example is a program of its own, too")]
pub(crate) mod example;

use crate::market::{Market, claims, core};
use crate::objects::{claim, condition, config_map, entry};

in_both_modes!(an_extension_is_realized_from_outside, what_was_in_the_way_is_not_said_any_more);

/// CAT-7, CAT-29, CAT-31: an entry of another kind is claimed in the same way, and waits for whoever realizes it, who finds it
/// by a field.
async fn an_extension_is_realized_from_outside(site: &mut Market) {
    site.publish(&greeting()).await;
    site.user("eddie").post(&claims("a"), &claim("mine", "greeting", json!({}))).await.expect(201);
    let at = format!("{}/mine", claims("a"));
    let waits = site.until(&at, |claim| condition(claim, "Ready").1 == "NoController").await;
    assert_eq!((condition(&waits, "Ready").0, &waits["status"]["realizer"]), ("False", &json!("Greeting")));
    let found = site.root().get(&format!("{}?fieldSelector=status.realizer%3DGreeting", claims("a"))).await.expect(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let none = site.root().get(&format!("{}?fieldSelector=status.realizer%3DOther", claims("a"))).await.expect(200);
    assert_eq!(none["items"], json!([]));
    // The controller of the documentation, where it may do everything.
    let controller = tokio::spawn(example::run(client(site).await));
    let done = site.until(&at, |claim| condition(claim, "Ready").0 == "True").await;
    assert_eq!(done["status"]["createdResources"][0]["kind"], "ConfigMap");
    let made = site.root().get(&core("a", "configmaps", "mine-greeting")).await.expect(200);
    assert_eq!(made["data"]["text"], "hello");
    // What it has said stays said.
    site.user("eddie").merge(&at, &json!({ "spec": { "generation": 2 } })).await.expect(200);
    site.until(&at, |claim| claim["status"]["generation"] == 2 && condition(claim, "Ready").0 == "True").await;
    // What someone else has made is left alone, and that is told.
    let theirs = site.make("a", "configmaps", &config_map("second-greeting", json!({ "text": "theirs" }))).await;
    site.user("eddie").post(&claims("a"), &claim("second", "greeting", json!({}))).await.expect(201);
    let second = format!("{}/second", claims("a"));
    site.until(&second, |claim| condition(claim, "Ready") == ("False", "AlreadyExists")).await;
    let path = core("a", "configmaps", "second-greeting");
    assert_eq!(site.root().get(&path).await.expect(200), theirs);
    site.root().delete(&path).await.expect(200);
    site.user("eddie").merge(&second, &json!({ "spec": { "generation": 1 } })).await.expect(200);
    site.until(&second, |claim| condition(claim, "Ready").0 == "True").await;
    assert_eq!(site.root().get(&path).await.expect(200)["data"]["text"], "hello");
    controller.abort();
}

/// CAT-31, CAT-57: what kept a claim of an extension waiting, or from following, is said for as long as it is so.
async fn what_was_in_the_way_is_not_said_any_more(site: &mut Market) {
    let eddie = site.user("eddie");
    site.publish(&greeting()).await;
    let late = json!({ "serviceAccountName": "late", "keepSynchronized": true });
    eddie.post(&claims("a"), &claim("mine", "greeting", late)).await.expect(201);
    let at = format!("{}/mine", claims("a"));
    site.until(&at, |claim| condition(claim, "Ready").1 == "ActAsUnresolved").await;
    site.account("a", "late").await;
    site.until(&at, |claim| condition(claim, "Ready") == ("False", "NoController")).await;
    let controller = tokio::spawn(example::run(client(site).await));
    site.until(&at, |claim| condition(claim, "Ready") == ("True", "Greeted")).await;
    // Another account of the same name is not the one that was named.
    site.root().delete(&core("a", "serviceaccounts", "late")).await.expect(200);
    site.account("a", "late").await;
    site.until(&at, |claim| condition(claim, "Synced").1 == "ActAsReplaced").await;
    eddie.merge(&at, &json!({ "spec": { "generation": 1 } })).await.expect(200);
    let told =
        site.until(&at, |claim| claim["status"]["generation"] == 1 && condition(claim, "Synced").0.is_empty()).await;
    assert_eq!(condition(&told, "Ready"), ("True", "Greeted"), "what others have said stays");
    controller.abort();
}

fn greeting() -> Value {
    let extension = json!({ "apiVersion": "example.com/v1", "kind": "Greeting", "text": "hello" });
    entry("greeting", json!({ "extension": extension }))
}

/// Who may do everything.
async fn client(site: &Market) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(&site.site.kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    kube::Client::try_from(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
}
