//! Kinds that are defined while the server runs, with kubectl.

use std::time::Duration;

use serde_json::Value;

use crate::process::{Server, folder};
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
