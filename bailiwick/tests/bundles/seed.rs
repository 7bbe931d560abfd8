//! The seed's own example, as people type it.

use std::fs;
use std::time::Duration;

use bailiwick_test_host::Kubectl;
use serde_json::json;
use tokio::time::sleep;

use crate::process::folder;
use crate::shop::{BUNDLES, SLEEPERS, Shop, resource};
use crate::site::Site;

const SEED: &str = r#"
apiVersion: smith.atlassian.com/v1
kind: Bundle
metadata:
  name: bundlex
spec:
  resources:
  - name: sleeper1
    spec:
      apiVersion: tpr.atlassian.com/v1
      kind: Sleeper
      metadata:
        name: sleeper1
      spec:
        sleepFor: 3
        wakeupMessage: Hello, Infravators!
  - name: sleeper2
    dependsOn:
    - sleeper1
    spec:
      apiVersion: tpr.atlassian.com/v1
      kind: Sleeper
      metadata:
        name: sleeper2
      spec:
        sleepFor: 4
        wakeupMessage: "$(sleeper1.status.message)"
  - name: sleeper3
    dependsOn:
    - sleeper2
    spec:
      apiVersion: tpr.atlassian.com/v1
      kind: Sleeper
      metadata:
        name: sleeper3
      spec: "$((sleeper2.spec))"
"#;

async fn ok(kubectl: &Kubectl, line: &str) -> String {
    kubectl.run(line.split(' ')).await.unwrap().success().unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// SMITH-1, SMITH-11, SMITH-12, SMITH-13, SMITH-15, SMITH-17, SMITH-38, SMITH-39, B-SMITH-9: the seed's YAML applies unchanged
/// through the alias group; each sleeper waits for the one before, says for what, and follows it when it changes.
#[tokio::test]
async fn the_seeds_example_runs_as_it_is_written() {
    let shop = Shop::open(Site::alone().await).await;
    let rules = json!([{ "apiGroups": ["tpr.atlassian.com"], "resources": ["sleepers"], "verbs": ["*"] }]);
    shop.allow("default", rules).await;
    let folder = folder();
    let file = folder.path().join("seed.yaml");
    fs::write(&file, SEED).unwrap();
    let kubectl = shop.site.server.kubectl().await;
    ok(&kubectl, &format!("apply -n shop -f {}", file.display())).await;

    let waiting = shop.says("bundlex", "sleeper2", "Blocked", "DependencyNotReady").await;
    let message = waiting["message"].as_str().unwrap();
    assert!(message.contains("\"sleeper1\"") && message.contains("status.state is not there"), "{message}");
    assert!(waiting["since"].is_string());
    shop.set_status(&format!("{SLEEPERS}/sleeper1"), json!({ "state": "Awake" })).await;
    let waiting = shop.says("bundlex", "sleeper2", "Blocked", "FieldMissing").await;
    assert!(waiting["message"].as_str().unwrap().contains("sleeper1.status.message"), "{waiting}");
    assert_eq!(shop.root.get(&format!("{SLEEPERS}/sleeper2")).await.code, 404, "no empty text takes its place");

    shop.wake("sleeper1", "Hello, Infravators!").await;
    let second = shop.until(&format!("{SLEEPERS}/sleeper2"), |_| true).await;
    assert_eq!(second["spec"], json!({ "sleepFor": 4, "wakeupMessage": "Hello, Infravators!" }));
    assert_eq!(second["metadata"]["ownerReferences"][0]["apiVersion"], "bundle.bailiwick.dev/v1alpha1");
    assert_eq!(shop.root.get(&format!("{SLEEPERS}/sleeper3")).await.code, 404);
    let bundle = shop.bundle("bundlex").await;
    assert_eq!(resource(&bundle, "sleeper3")["phase"], "Blocked");
    shop.wake("sleeper2", "Good morning").await;
    let third = shop.until(&format!("{SLEEPERS}/sleeper3"), |_| true).await;
    assert_eq!(third["spec"], second["spec"]);
    let listed = ok(&kubectl, "get bundles.smith.atlassian.com -n shop").await;
    assert!(listed.contains("RESOURCES") && listed.contains("2/3"), "{listed}");
    shop.wake("sleeper3", "Good morning").await;
    let ready = shop.ready("bundlex").await;
    assert_eq!(ready["status"]["ready"], "3/3");
    assert_eq!(ready["status"]["inventory"].as_array().unwrap().len(), 3);
    for item in ready["status"]["inventory"].as_array().unwrap() {
        assert!(!item["object"]["uid"].as_str().unwrap().is_empty(), "{item}");
    }

    shop.wake("sleeper1", "Hello again").await;
    shop.until(&format!("{SLEEPERS}/sleeper3"), |third| third["spec"]["wakeupMessage"] == "Hello again").await;
    let listed = ok(&kubectl, "get bundles -n shop -o wide").await;
    assert!(listed.contains("3/3") && listed.contains("default"), "{listed}");
    sleep(Duration::from_millis(300)).await;
    let story = ok(&kubectl, "describe bundles.bundle.bailiwick.dev bundlex -n shop").await;
    for told in ["Created", "created Sleeper \"sleeper1\"", "all 3 resources are ready", "Requester"] {
        assert!(story.contains(told), "{told} is missing in {story}");
    }
    assert!(ok(&kubectl, "explain bundle.spec.resources.dependsOn").await.contains("must be ready before"));
    assert!(ok(&kubectl, "explain readinessrule.spec.condition").await.contains("status.conditions"));
    let requester = &shop.bundle("bundlex").await["status"]["requester"];
    assert!(requester["username"].is_string(), "{requester}");
    shop.root.delete(&format!("{BUNDLES}/bundlex")).await.expect(200);
    shop.gone(&format!("{SLEEPERS}/sleeper1")).await;
    shop.gone(&format!("{BUNDLES}/bundlex")).await;
}
