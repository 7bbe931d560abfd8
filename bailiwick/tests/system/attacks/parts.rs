//! Every part of an object is written by its own path, whichever way the path is written to.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Client, Endpoint, JSON, JSON_PATCH, MERGE_PATCH, request};
use crate::process::{PATIENCE, Server, folder};
use crate::turn::turn;

const APPLY: &str = "application/apply-patch+yaml";
/// What a status has that was written where it must not be, and where it may be.
const FORGED: &str = "Forged";
const WRITTEN: &str = "Written";
const NAMESPACE: &str = "parts";
/// The kinds whose status says who has asked for an object.
const STAMPED: [&str; 4] = ["Bundle", "ResourceCatalogClaim", "ResourceCatalogEntry", "ResourceBindingDefinition"];

/// A kind whose status is written apart.
struct Row {
    /// Group and version, plural.
    kind: (&'static str, &'static str, &'static str),
    is_namespaced: bool,
    /// The object, without what all have.
    object: Value,
    /// What someone would like to have instead of a part of it.
    wanted: Value,
}

/// The ways to write.
#[derive(Clone, Copy, Debug)]
enum Way {
    Replace,
    Merge,
    JsonPatch,
    Apply,
}

/// S-15, S-16, SRV-3. For every kind of ours with a status, and every way to write: whoever writes the object does not write the
/// status, nor says who has asked for it; whoever writes the status writes nothing else, not even labels, owners or finalizers.
#[tokio::test]
async fn every_part_has_its_path() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let client = Endpoint::of(&server).connect().await.unwrap();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE,
        "labels": { "openshift.io/owner": "organizations__Acme" } } });
    let organization = json!({ "apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "Organization",
        "metadata": { "name": "Acme" }, "memberUsers": ["bob", "eve"] });
    client.post("/apis/org.bailiwick.dev/v1alpha1/organizations", &organization).await.unwrap().expect(201);
    client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    let binding = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "default" }, "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE }],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" } });
    let bindings = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings");
    client.post(&bindings, &binding).await.unwrap().expect(201);
    let rows = rows();
    assert_eq!(with_a_status(&client).await, rows.iter().map(Row::named).collect::<Vec<_>>());
    // Some take others that are further down.
    for row in rows.iter().rev() {
        let made = row.make(&client).await;
        assert!(!is_forged(&made), "{made}");
    }
    for row in &rows {
        for way in [Way::Replace, Way::Merge, Way::JsonPatch, Way::Apply] {
            let (before, after) = row.write(&client, "", way, |object| claiming(object, FORGED)).await;
            assert!(!is_forged(&after), "{} by {way:?}: {after}", row.named());
            assert_eq!(after["status"]["requester"], before["status"]["requester"], "{}", row.named());
            let (before, after) = row.write(&client, "/status", way, |object| row.with_everything_else(object)).await;
            assert_eq!(without_status(&after), without_status(&before), "{} by {way:?}", row.named());
            assert!(after["status"].to_string().contains(WRITTEN), "{} by {way:?}: {after}", row.named());
            assert_eq!(after["status"]["requester"], before["status"]["requester"], "{}", row.named());
        }
    }
    server.stop().await;
}

fn rows() -> Vec<Row> {
    let resource =
        json!({ "name": "a", "spec": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } } });
    let row = |kind, is_namespaced, object, wanted| Row { kind, is_namespaced, object, wanted };
    let claim_kind = json!({ "apiVersion": "parts.example.dev/v1", "kind": "Disk" });
    vec![
        row(
            ("bundle.bailiwick.dev/v1alpha1", "bundles", "Bundle"),
            true,
            json!({ "spec": { "resources": [resource] } }),
            json!({ "spec": { "resources": [], "serviceAccountName": "other" } }),
        ),
        row(
            ("catalog.bailiwick.dev/v1alpha1", "resourcecatalogclaims", "ResourceCatalogClaim"),
            true,
            json!({ "spec": { "catalogName": "one", "resourceCatalogEntry": { "namespace": NAMESPACE, "name": "one" } } }),
            json!({ "spec": { "namePrefix": "stolen-" } }),
        ),
        row(
            ("catalog.bailiwick.dev/v1alpha1", "resourcecatalogentries", "ResourceCatalogEntry"),
            true,
            json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "extension": { "apiVersion": "x/v1", "kind": "X" } } }),
            json!({ "spec": { "description": "stolen" } }),
        ),
        row(
            ("catalog.bailiwick.dev/v1alpha1", "resourcecatalogs", "ResourceCatalog"),
            false,
            json!({ "spec": { "selector": { "a": "b" }, "accept": { "policy": "All" } } }),
            json!({ "spec": { "selector": { "stolen": "yes" } } }),
        ),
        row(
            ("claim.bailiwick.dev/v1alpha1", "resourcebindingdefinitions", "ResourceBindingDefinition"),
            false,
            json!({ "spec": { "claim": claim_kind, "resources": [{ "resource": { "apiVersion": "parts.example.dev/v1", "kind": "Real" },
                "class": { "apiVersion": "parts.example.dev/v1", "kind": "Class" } }] } }),
            json!({ "spec": { "claim": { "apiVersion": "v1", "kind": "Secret" } } }),
        ),
        row(
            ("claim.bailiwick.dev/v1alpha1", "resourceclaimdefinitions", "ResourceClaimDefinition"),
            false,
            json!({ "spec": { "group": "parts.example.dev", "version": "v1", "names": { "kind": "Disk", "plural": "disks" } } }),
            json!({ "spec": { "names": { "kind": "Stolen" } } }),
        ),
        row(
            ("org.bailiwick.dev/v1alpha1", "orggroups", "OrgGroup"),
            false,
            json!({ "users": ["bob"] }),
            json!({ "users": ["bob", "eve"] }),
        ),
        row(
            ("org.bailiwick.dev/v1alpha1", "orgrolebindings", "OrgRoleBinding"),
            true,
            json!({ "roleRef": { "name": "view" }, "users": ["bob"] }),
            json!({ "users": ["bob", "eve"] }),
        ),
        row(
            ("quota.bailiwick.dev/v1alpha1", "resourcequotaallocations", "ResourceQuotaAllocation"),
            false,
            json!({ "spec": { "selector": { "matchLabels": { "a": "b" } }, "allocation": { "hard": { "cpu": "1" } } } }),
            json!({ "spec": { "allocation": { "hard": { "cpu": "1000" } } } }),
        ),
    ]
}

/// The kinds in our own groups that have a status, by group and plural.
async fn with_a_status(client: &Client) -> Vec<String> {
    let groups = client.get("/apis").await.unwrap().expect(200);
    let mut found = Vec::new();
    for group in groups["groups"].as_array().unwrap() {
        let version = group["preferredVersion"]["groupVersion"].as_str().unwrap();
        if version.contains(".bailiwick.dev/") {
            let list = client.get(&format!("/apis/{version}")).await.unwrap().expect(200);
            let names = list["resources"].as_array().unwrap().iter().map(|resource| resource["name"].as_str().unwrap());
            found.extend(names.filter_map(|name| Some(format!("{version}/{}", name.strip_suffix("/status")?))));
        }
    }
    found
}

// === impl Row ===

impl Row {
    fn named(&self) -> String {
        format!("{}/{}", self.kind.0, self.kind.1)
    }

    fn name(&self) -> &'static str {
        if self.kind.1 == "orggroups" { "Acme:one" } else { "one" }
    }

    fn collection(&self) -> String {
        let namespace = if self.is_namespaced { format!("/namespaces/{NAMESPACE}") } else { String::new() };
        format!("/apis/{}{namespace}/{}", self.kind.0, self.kind.1)
    }

    /// The object, with a status that nobody may give it, as soon as what it takes is there.
    async fn make(&self, client: &Client) -> Value {
        let mut object = self.object.clone();
        object["apiVersion"] = json!(self.kind.0);
        object["kind"] = json!(self.kind.2);
        object["metadata"]["name"] = json!(self.name());
        let began = Instant::now();
        loop {
            let answer = client.post(&self.collection(), &claiming(&object, FORGED)).await.unwrap();
            if answer.code == 201 {
                return answer.json();
            }
            assert!(began.elapsed() < PATIENCE, "{}: {}", self.named(), answer.text());
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// The object, changed wherever someone could want to who may write its status.
    fn with_everything_else(&self, object: &Value) -> Value {
        let mut changed = claiming(object, WRITTEN);
        merge(&mut changed, &self.wanted);
        let owner = json!({ "apiVersion": "v1", "kind": "Namespace", "name": NAMESPACE, "uid": "stolen" });
        let metadata = json!({ "labels": { "stolen": "yes" }, "annotations": { "stolen": "yes" }, "ownerReferences": [owner],
            "finalizers": ["stolen.example.dev/mine"] });
        merge(&mut changed["metadata"], &metadata);
        changed
    }

    /// Writes a part of the object, and gives the object before and after.
    async fn write(&self, client: &Client, part: &str, way: Way, change: impl Fn(&Value) -> Value) -> (Value, Value) {
        let at = format!("{}/{}", self.collection(), self.name());
        let began = Instant::now();
        loop {
            let before = client.get(&at).await.unwrap().expect(200);
            let answer = way.send(client, &format!("{at}{part}"), change(&before)).await;
            // Whoever fills in the status may have been faster.
            if answer.code != 409 || began.elapsed() > PATIENCE {
                return (before, answer.expect(200));
            }
        }
    }
}

// === impl Way ===

impl Way {
    async fn send(self, client: &Client, path: &str, mut object: Value) -> Answer {
        let (method, content_type, path, body) = match self {
            Self::Replace => (Method::PUT, JSON, path.to_owned(), object),
            Self::Merge => (Method::PATCH, MERGE_PATCH, path.to_owned(), object),
            Self::JsonPatch => {
                let fields = object.as_object().unwrap().iter().filter(|(field, _)| *field != "metadata");
                let mut operations: Vec<Value> = fields
                    .map(|(field, value)| json!({ "op": "add", "path": format!("/{field}"), "value": value }))
                    .collect();
                let metadata = object["metadata"].as_object().unwrap().iter();
                operations.extend(metadata.map(
                    |(field, value)| json!({ "op": "add", "path": format!("/metadata/{field}"), "value": value }),
                ));
                (Method::PATCH, JSON_PATCH, path.to_owned(), json!(operations))
            }
            Self::Apply => {
                object["metadata"].as_object_mut().unwrap().remove("managedFields");
                (Method::PATCH, APPLY, format!("{path}?fieldManager=thief&force=true"), object)
            }
        };
        client.send(request(method, &path, content_type, body.to_string().into())).await.unwrap()
    }
}

/// The object, with a status that claims this.
fn claiming(object: &Value, reason: &str) -> Value {
    let mut object = object.clone();
    let condition = json!({ "type": "Ready", "status": "True", "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    object["status"] = json!({ "conditions": [condition] });
    if STAMPED.contains(&object["kind"].as_str().unwrap()) {
        object["status"]["requester"] = json!({ "username": reason });
    }
    object
}

fn is_forged(object: &Value) -> bool {
    object["status"].to_string().contains(FORGED)
}

/// All that is not the status, nor follows from a write.
fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| !matches!(field.as_str(), "resourceVersion" | "managedFields"));
    object
}

fn merge(target: &mut Value, with: &Value) {
    match (target, with) {
        (Value::Object(target), Value::Object(with)) => {
            for (field, value) in with {
                merge(target.entry(field.clone()).or_insert(Value::Null), value);
            }
        }
        (target, with) => *target = with.clone(),
    }
}
