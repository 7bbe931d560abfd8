//! Claims that someone outside of the server realizes.

use serde_json::json;

#[path = "../../../controllers/examples/realize_extension.rs"]
#[allow(dead_code, reason = "the example is a program of its own, too")]
mod example;

use crate::market::{Market, claims, core};
use crate::objects::{claim, condition, entry};

in_both_modes!(an_extension_is_realized_from_outside);

/// CAT-7, CAT-29, CAT-31: an entry of another kind is claimed in the same way, and waits for whoever realizes it, who finds it
/// by a field.
async fn an_extension_is_realized_from_outside(site: &mut Market) {
    let extension = json!({ "apiVersion": "example.com/v1", "kind": "Greeting", "text": "hello" });
    site.publish(&entry("greeting", json!({ "extension": extension }))).await;
    site.user("eddie").post(&claims("a"), &claim("mine", "greeting", json!({}))).await.expect(201);
    let at = format!("{}/mine", claims("a"));
    let waits = site.until(&at, |claim| condition(claim, "Ready").1 == "NoController").await;
    assert_eq!((condition(&waits, "Ready").0, &waits["status"]["realizer"]), ("False", &json!("Greeting")));
    let found = site.root().get(&format!("{}?fieldSelector=status.realizer%3DGreeting", claims("a"))).await.expect(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let none = site.root().get(&format!("{}?fieldSelector=status.realizer%3DOther", claims("a"))).await.expect(200);
    assert_eq!(none["items"], json!([]));
    // The controller of the documentation, as someone with the rights that it says it needs.
    let client = {
        let kubeconfig = kube::config::Kubeconfig::read_from(&site.site.kubeconfig).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        kube::Client::try_from(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
    };
    let controller = tokio::spawn(example::run(client));
    let done = site.until(&at, |claim| condition(claim, "Ready").0 == "True").await;
    assert_eq!(done["status"]["createdResources"][0]["kind"], "ConfigMap");
    let made = site.root().get(&core("a", "configmaps", "mine-greeting")).await.expect(200);
    assert_eq!(made["data"]["text"], "hello");
    // What it has said stays said.
    site.user("eddie").merge(&at, &json!({ "spec": { "generation": 2 } })).await.expect(200);
    site.until(&at, |claim| claim["status"]["generation"] == 2 && condition(claim, "Ready").0 == "True").await;
    controller.abort();
}
