//! The seed's own example, as people type it.

use std::fs;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::process::folder;
use crate::shop::{BUNDLES, SLEEPERS, Shop, condition, resource};

in_both_modes!(with crate::shop::Shop::open_with_aliases: the_seeds_example_runs_as_it_is_written);

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

/// SMITH-1, SMITH-11, SMITH-12, SMITH-13, SMITH-15, SMITH-17, SMITH-38, SMITH-39, B-SMITH-9, M-SMITH-5, D-SMITH-5: the
/// seed's YAML applies unchanged through the alias group; each sleeper waits for the one before, says for what, and follows it
/// when it changes.
async fn the_seeds_example_runs_as_it_is_written(shop: &Shop) {
    let rules = json!([{ "apiGroups": ["tpr.atlassian.com"], "resources": ["sleepers"], "verbs": ["*"] }]);
    shop.allow("default", rules).await;
    let folder = folder();
    let file = folder.path().join("seed.yaml");
    fs::write(&file, SEED).unwrap();
    shop.kubectl(&format!("apply -n shop -f {}", file.display())).await;

    let waiting = shop.says("bundlex", "sleeper2", "Blocked", "DependencyNotReady").await;
    let message = waiting["message"].as_str().unwrap();
    assert_eq!(message, "waits for \"sleeper1\" (InProgress: status.state is not there, and must be \"Awake\")");
    assert!(waiting["since"].is_string());
    let bundle = shop.bundle("bundlex").await;
    let behind = "waits for \"sleeper2\", which waits for \"sleeper1\" (InProgress: status.state is not there, and must be \"Awake\")";
    assert_eq!(resource(&bundle, "sleeper3")["message"], behind);
    let all = "sleeper1 is InProgress (status.state is not there, and must be \"Awake\"); 2 wait for others";
    assert_eq!(condition(&bundle, "Ready")["message"], all);
    assert_eq!(condition(&bundle, "PruningComplete")["status"], "True");
    let path = json!({ "resources": ["sleeper1", "sleeper2", "sleeper3"] });
    assert_eq!(bundle["status"]["criticalPath"], path, "nobody knows how long a sleeper sleeps");
    shop.set_status(&format!("{SLEEPERS}/sleeper1"), json!({ "state": "Awake" })).await;
    let waiting = shop.says("bundlex", "sleeper2", "Blocked", "FieldMissing").await;
    assert!(waiting["message"].as_str().unwrap().contains("sleeper1.status.message"), "{waiting}");
    assert_eq!(shop.root.get(&format!("{SLEEPERS}/sleeper2")).await.code, 404, "no empty text takes its place");

    shop.wake("sleeper1", "Hello, Infravators!").await;
    let second = shop.until(&format!("{SLEEPERS}/sleeper2"), |_| true).await;
    assert_eq!(second["spec"], json!({ "sleepFor": 4, "wakeupMessage": "Hello, Infravators!" }));
    let owner = &second["metadata"]["ownerReferences"][0];
    assert_eq!(owner["apiVersion"], "bundle.bailiwick.dev/v1alpha1");
    assert_eq!(owner["blockOwnerDeletion"], json!(null), "who says so needs a right over the owner's finalizers");
    assert_eq!(shop.root.get(&format!("{SLEEPERS}/sleeper3")).await.code, 404);
    shop.says("bundlex", "sleeper2", "InProgress", "NotReady").await;
    let bundle = shop.bundle("bundlex").await;
    assert_eq!(resource(&bundle, "sleeper3")["phase"], "Blocked");
    let path = &bundle["status"]["criticalPath"];
    assert_eq!(path["resources"], json!(["sleeper2", "sleeper3"]));
    let slept = resource(&bundle, "sleeper1")["readyAfterSeconds"].as_i64().unwrap();
    let seconds = |time: &Value| time.as_str().unwrap().parse::<Timestamp>().unwrap().as_second();
    let since = seconds(&resource(&bundle, "sleeper2")["since"]);
    assert_eq!(seconds(&path["estimatedReadyTime"]), since + 2 * slept, "as long as the first");
    shop.wake("sleeper2", "Good morning").await;
    let third = shop.until(&format!("{SLEEPERS}/sleeper3"), |_| true).await;
    assert_eq!(third["spec"], second["spec"]);
    let listed = shop.kubectl("get bundles.smith.atlassian.com -n shop").await;
    assert!(listed.contains("RESOURCES") && listed.contains("2/3"), "{listed}");
    shop.wake("sleeper3", "Good morning").await;
    let ready = shop.ready("bundlex").await;
    assert_eq!(ready["status"]["ready"], "3/3");
    assert_eq!(ready["status"]["criticalPath"], json!(null));
    let mut made = Vec::new();
    for name in ["sleeper1", "sleeper2", "sleeper3"] {
        let sleeper = shop.root.get(&format!("{SLEEPERS}/{name}")).await.expect(200);
        made.push(seconds(&sleeper["metadata"]["creationTimestamp"]));
    }
    assert!(made.is_sorted(), "{made:?}");
    assert_eq!(condition(&ready, "Ready")["observedGeneration"], ready["metadata"]["generation"]);
    shop.kubectl("wait bundles.smith.atlassian.com/bundlex -n shop --for=condition=Ready --timeout=60s").await;
    assert_eq!(ready["status"]["inventory"].as_array().unwrap().len(), 3);
    for item in ready["status"]["inventory"].as_array().unwrap() {
        assert!(!item["object"]["uid"].as_str().unwrap().is_empty(), "{item}");
    }

    shop.wake("sleeper1", "Hello again").await;
    shop.until(&format!("{SLEEPERS}/sleeper3"), |third| third["spec"]["wakeupMessage"] == "Hello again").await;
    let listed = shop.kubectl("get bundles -n shop -o wide").await;
    assert!(listed.contains("3/3") && listed.contains("default"), "{listed}");
    sleep(Duration::from_millis(300)).await;
    let story = shop.kubectl("describe bundles.bundle.bailiwick.dev bundlex -n shop").await;
    for told in [
        "created Sleeper \"sleeper1\"",
        "created Sleeper \"sleeper2\"",
        "created Sleeper \"sleeper3\"",
        "all 3 resources are ready",
        "Requester",
    ] {
        assert!(story.contains(told), "{told} is missing in {story}");
    }
    assert!(shop.kubectl("explain bundle.spec.resources.dependsOn").await.contains("must be ready before"));
    assert!(shop.kubectl("explain readinessrule.spec.condition").await.contains("status.conditions"));
    let requester = &shop.bundle("bundlex").await["status"]["requester"];
    assert!(requester["username"].is_string(), "{requester}");
    shop.root.delete(&format!("{BUNDLES}/bundlex")).await.expect(200);
    shop.gone(&format!("{SLEEPERS}/sleeper1")).await;
    shop.gone(&format!("{BUNDLES}/bundlex")).await;
}
