//! What a cluster assigns to one object alone.

use serde_json::{Value, json};

use crate::market::{Market, claims, entries};
use crate::objects::{claim, condition};
use crate::site::Site;

const CORE: &str = "/api/v1";
const BATCH: &str = "/apis/batch/v1";

/// What is assigned: to an object of which kind, where it stands, and whether a copy has one of its own from the beginning.
const ASSIGNED: [(&str, &str, &str, bool); 5] = [
    (CORE, "services", "/spec/clusterIP", true),
    (CORE, "services", "/spec/ports/0/nodePort", true),
    (BATCH, "jobs", "/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid", true),
    (CORE, "persistentvolumeclaims", "/spec/volumeName", false),
    (CORE, "pods", "/spec/nodeName", false),
];

/// CAT-27: addresses, selectors, volumes and nodes are not copied, neither when copies are made nor when they are made anew.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_one_object_can_have_is_not_copied() {
    let site = Market::open(Site::behind().await).await;
    let (root, eddie) = (site.root(), site.user("eddie"));
    let reads = json!({
        "apiGroups": ["", "batch"], "resources": ["jobs", "persistentvolumeclaims", "pods", "services"],
        "verbs": ["get", "list", "watch"],
    });
    site.grant("shop", "publisher-more", reads, "ServiceAccount/publisher").await;
    // As whom the pods would run.
    for namespace in ["shop", "a"] {
        site.account(namespace, "runner").await;
    }
    let mut exposed = Vec::new();
    for (api, plural, object) in sources() {
        root.post(&format!("{api}/namespaces/shop/{plural}"), &object).await.expect(201);
        exposed.push(json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "name": "web" }));
    }
    let local = json!({ "serviceAccountName": "publisher", "localResources": { "exposedResources": exposed } });
    site.publish(&crate::objects::entry("all", local)).await;
    site.claimed(&claim("mine", "all", json!({ "namePrefix": "my-" }))).await;
    is_assigned_anew(&site).await;
    let at = format!("{}/mine", claims("a"));
    eddie.merge(&at, &json!({ "spec": { "generation": 1 } })).await.expect(200);
    let again = site.until(&at, |claim| claim["status"]["generation"] == 1).await;
    assert_eq!((condition(&again, "Ready").0, &again["status"]["errors"]), ("True", &json!(null)), "{again}");
    is_assigned_anew(&site).await;

    // The cluster is not to have them any more.
    root.delete(&at).await.expect(200);
    root.delete(&format!("{}/all", entries("shop"))).await.expect(200);
    for (api, plural, _) in sources() {
        // Without a node nobody says that a pod has come to its end.
        root.delete(&format!("{api}/namespaces/shop/{plural}/web?gracePeriodSeconds=0")).await.expect(200);
    }
    site.check_invariants().await;
}

/// Each copy has its own of what was assigned to its source, or none.
async fn is_assigned_anew(site: &Market) {
    let live = async |path: String| site.root().get(&path).await.expect(200);
    for (api, plural, pointer, has_own) in ASSIGNED {
        let source = live(format!("{api}/namespaces/shop/{plural}/web")).await;
        let copy = live(format!("{api}/namespaces/a/{plural}/my-web")).await;
        let (of_source, of_copy) = (source.pointer(pointer), copy.pointer(pointer));
        assert!(of_source.is_some() && of_source != of_copy, "{plural} {pointer}: {source}");
        assert_eq!(of_copy.is_some(), has_own, "{plural} {pointer}: {copy}");
    }
}

/// What is published: of which kind, and how people write it.
fn sources() -> [(&'static str, &'static str, Value); 4] {
    let object = |version: &str, kind: &str, spec: Value| {
        let metadata = json!({ "name": "web" });
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
    };
    let pod = json!({
        "serviceAccountName": "runner", "automountServiceAccountToken": false, "restartPolicy": "Never",
        "containers": [{ "name": "web", "image": "example.dev/web" }],
    });
    let mut placed = pod.clone();
    placed["nodeName"] = json!("node-1");
    let volume = json!({
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } }, "storageClassName": "",
        "volumeName": "volume-1",
    });
    let job = json!({ "suspend": true, "template": { "spec": pod } });
    [
        (CORE, "services", object("v1", "Service", json!({ "type": "NodePort", "ports": [{ "port": 80 }] }))),
        (CORE, "persistentvolumeclaims", object("v1", "PersistentVolumeClaim", volume)),
        (CORE, "pods", object("v1", "Pod", placed)),
        (BATCH, "jobs", object("batch/v1", "Job", job)),
    ]
}
