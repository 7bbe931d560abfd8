//! Kinds that are defined while the server runs, with kubectl.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{Error as WatchError, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use serde_json::Value;
use tokio::time::timeout;

use crate::greeter::connect;
use crate::process::{PATIENCE, Server, folder};
use crate::turn::turn;

const SOON: Duration = Duration::from_secs(20);

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kettles.kitchen.example.com}
spec:
  group: kitchen.example.com
  scope: Namespaced
  names: {plural: kettles, kind: Kettle, shortNames: [ket], categories: [tableware]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Liters, type: integer, jsonPath: .spec.liters}
    - {name: Boils, type: string, jsonPath: '.status.conditions[?(@.type==\"Boils\")].status'}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [liters]
            properties:
              liters: {type: integer, minimum: 1, description: How much it holds.}
              color: {type: string, default: red}
          status:
            type: object
            properties:
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
";

fn kettle(name: &str, spec: &str) -> String {
    format!("apiVersion: kitchen.example.com/v1\nkind: Kettle\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n")
}

/// From its definition to its end: made, explained, applied, listed, selected, refused, changed and deleted.
#[tokio::test]
async fn kubectl_defines_and_uses_a_kind() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    let run = async |arguments: &str| {
        let output = kubectl.run(arguments.split(' ')).await.unwrap();
        output.success().unwrap_or_else(|error| panic!("kubectl {arguments}: {error}"))
    };
    drop(kubectl.run(["create", "namespace", "default"]).await);
    kubectl.apply(DEFINITION).await.unwrap();
    // Without a pause: who is told of a definition can use it.
    kubectl.apply(&kettle("one", "liters: 2")).await.unwrap();
    let table = run("get kettles").await;
    assert!(table.contains("LITERS   BOILS") && table.contains("one    2"), "{table}");
    assert!(run("get ket,tableware -o name").await.contains("kettle.kitchen.example.com/one"));
    assert!(run("get kettles --field-selector spec.color=red -o name").await.contains("one"));
    assert!(run("explain kettle.spec.liters").await.contains("How much it holds."));
    let refused = kubectl.apply(&kettle("two", "liters: 0")).await.unwrap_err().to_string();
    assert!(refused.contains("should be greater than or equal to 1"), "{refused}");
    let refused = kubectl.apply(&kettle("two", "litres: 1, liters: 1")).await.unwrap_err().to_string();
    assert!(refused.contains("unknown field \"spec.litres\""), "{refused}");
    let patch = r#"{"status":{"conditions":[{"type":"Boils","status":"True"}]}}"#;
    let patched = kubectl.run(["patch", "ket", "one", "--subresource=status", "--type=merge", "-p", patch]).await;
    patched.unwrap().success().unwrap();
    assert!(run("get kettles").await.contains("True"));

    let changed = DEFINITION.replace("color: {type: string, default: red}", "shape: {type: string, default: round}");
    let changed = changed.replace(".spec.color", ".spec.shape");
    kubectl.apply(&changed).await.unwrap();
    let spec: Value = serde_json::from_str(&run("get kettle one -o jsonpath={.spec}").await).unwrap();
    assert_eq!(spec, serde_json::json!({"liters": 2, "shape": "round"}));
    assert!(run("get kettles --field-selector spec.shape=round -o name").await.contains("one"));

    let deleted = tokio::time::timeout(SOON, run("delete crd kettles.kitchen.example.com"));
    assert!(deleted.await.unwrap().contains("deleted"));
    assert!(kubectl.run(["get", "kettles"]).await.unwrap().success().is_err());
    assert!(!run("api-resources").await.contains("kettles"));
    server.stop().await;
}

/// Who defines more than is done is told so: by a warning where it is kept, and by a refusal where objects would be served wrongly.
#[tokio::test]
async fn kubectl_is_told_what_is_not_done() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    drop(kubectl.run(["create", "namespace", "default"]).await);
    let webhook = "{conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com'}}";
    let conversion = format!("  conversion: {{strategy: Webhook, webhook: {webhook}}}\n  scope:");
    let converted = DEFINITION.replace("  scope:", &conversion);
    let refused = kubectl.apply(&converted).await.unwrap_err().to_string();
    assert!(refused.contains("spec.conversion.strategy: Forbidden: conversion webhooks are not called"), "{refused}");

    let rule = "x-kubernetes-validations: [{rule: 'self.liters < 9'}]\n            required: [liters]";
    let scale = "{status: {}, scale: {specReplicasPath: .spec.liters, statusReplicasPath: .status.liters}}";
    let more = DEFINITION.replace("required: [liters]", rule).replace("{status: {}}", scale);
    let applied = kubectl.run_with(["apply", "-f", "-"], &more).await.unwrap();
    for (place, warning) in [
        ("schema.openAPIV3Schema.properties[spec].x-kubernetes-validations", "rules in CEL are kept, but not enforced"),
        ("subresources.scale", "this subresource is kept, but not served"),
    ] {
        let warning = format!("Warning: spec.versions[0].{place}: {warning} by this server\n");
        assert!(applied.stderr.contains(&warning), "{}", applied.stderr);
    }
    applied.success().unwrap();
    kubectl.apply(&kettle("large", "liters: 10")).await.unwrap();
    server.stop().await;
}

/// An informer follows its kind: it is defined, changed, gone with all its objects, and defined again.
#[tokio::test(flavor = "multi_thread")]
async fn an_informer_follows_a_definition() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("kitchen.example.com", "v1", "Kettle"));
    let kettles: Api<DynamicObject> = Api::namespaced_with(connect(&server).await, "default", &kind);
    // Before there is a definition: whoever starts first waits for the other.
    let mut informer = Informer(Box::pin(watcher(kettles, watcher::Config::default()).default_backoff()));
    kubectl.apply(DEFINITION).await.unwrap();
    informer.sees(|event| matches!(event, Event::InitDone)).await;
    kubectl.apply(&kettle("one", "liters: 2")).await.unwrap();
    informer.sees(|event| is_there(event, "one")).await;

    kubectl.apply(&DEFINITION.replace("default: red", "default: blue")).await.unwrap();
    kubectl.apply(&kettle("two", "liters: 2")).await.unwrap();
    informer.sees(|event| is_there(event, "two")).await;

    kubectl.run(["delete", "crd", "kettles.kitchen.example.com", "--wait=false"]).await.unwrap().success().unwrap();
    let mut left = vec!["one", "two"];
    while !left.is_empty() {
        let gone = informer.sees(|event| matches!(event, Event::Delete(_))).await;
        let Event::Delete(gone) = gone else { panic!("another event: {gone:?}") };
        left.retain(|name| *name != gone.name_any());
    }
    kubectl.run(["wait", "--for=delete", "crd/kettles.kitchen.example.com"]).await.unwrap().success().unwrap();
    kubectl.apply(DEFINITION).await.unwrap();
    kubectl.apply(&kettle("three", "liters: 2")).await.unwrap();
    informer.sees(|event| is_there(event, "three")).await;
    server.stop().await;
}

/// What a client learns of a kind.
struct Informer(Pin<Box<dyn Stream<Item = Result<Event<DynamicObject>, WatchError>> + Send>>);

// === impl Informer ===

impl Informer {
    /// Waits for an event. Others, and errors while there is no such kind, are passed over.
    async fn sees(&mut self, is_it: impl Fn(&Event<DynamicObject>) -> bool) -> Event<DynamicObject> {
        let seeing = async {
            loop {
                match self.0.next().await.expect("a watch that never ends") {
                    Ok(event) if is_it(&event) => return event,
                    _ => {}
                }
            }
        };
        timeout(3 * PATIENCE, seeing).await.expect("an event in time")
    }
}

fn is_there(event: &Event<DynamicObject>, name: &str) -> bool {
    matches!(event, Event::Apply(object) | Event::InitApply(object) if object.name_any() == name)
}
