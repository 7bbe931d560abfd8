//! Catalogs behind a real kube-apiserver: what follows from entries and claims is done in the cluster, as the service accounts
//! that they name, and the cluster's own audit log says so.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use bailiwick_test_host::{Cluster, ClusterOptions, Kubectl};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::host::{done, done_soon, refused_with, user};
use crate::process::{PATIENCE, folder};
use crate::world::World;

const AUDIT: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
";

/// pat administers `shop`, where the account `publisher` reads; eddie edits `here`, where the account `maker` edits.
const CLUSTER: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: here}}
---
{apiVersion: v1, kind: Secret, metadata: {name: creds, namespace: shop}, stringData: {password: hunter2}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {colour: blue}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: publisher, namespace: shop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: maker, namespace: here}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: claim-gold, namespace: here}
rules: [{apiGroups: [catalog.bailiwick.dev], resources: [resourcecatalogs], resourceNames: [gold], verbs: [claim]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: publish-gold, namespace: shop}
rules: [{apiGroups: [catalog.bailiwick.dev], resources: [resourcecatalogs], resourceNames: [gold], verbs: [publish]}]
";

const BINDINGS: [&str; 7] = [
    "pat -n shop --clusterrole=admin --user=pat",
    "eddie -n here --clusterrole=edit --user=eddie",
    "publisher -n shop --clusterrole=edit --serviceaccount=shop:publisher",
    "maker -n here --clusterrole=edit --serviceaccount=here:maker",
    "publish-gold -n shop --role=publish-gold --user=pat",
    "claim-gold -n here --role=claim-gold --user=eddie",
    "shop-acts -n shop --clusterrole=bailiwick:act-as --serviceaccount=bailiwick-system:bailiwick",
];

const CATALOG: &str = "
{apiVersion: catalog.bailiwick.dev/v1alpha1, kind: ResourceCatalog, metadata: {name: gold}, spec: {selector: {tier: gold}}}
";

fn entry(name: &str, spec: &Value) -> String {
    json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogEntry",
        "metadata": { "name": name, "namespace": "shop", "labels": { "tier": "gold" } }, "spec": spec,
    })
    .to_string()
}

fn local(resources: &[(&str, &str)]) -> Value {
    let exposed: Vec<Value> =
        resources.iter().map(|(kind, name)| json!({ "apiVersion": "v1", "kind": kind, "name": name })).collect();
    json!({ "serviceAccountName": "publisher", "localResources": { "exposedResources": exposed } })
}

fn claim(name: &str, entry: &str, more: &Value) -> String {
    let mut spec = json!({
        "catalogName": "gold", "resourceCatalogEntry": { "namespace": "shop", "name": entry },
        "serviceAccountName": "maker",
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogClaim",
        "metadata": { "name": name, "namespace": "here" }, "spec": spec,
    })
    .to_string()
}

/// CAT-2, CAT-4, CAT-5, CAT-6, CAT-14, CAT-27, CAT-28, CAT-34, CAT-35, CAT-36, CAT-38, CAT-48, CAT-49, CAT-50, CAT-51, CAT-52,
/// CAT-55, CAT-57, CAT-61, CAT-62 and D-01, D-02, D-09, D-10, I2, I3: the whole story in a cluster.
#[tokio::test(flavor = "multi_thread")]
async fn catalogs_work_through_a_cluster() {
    let files = folder();
    let (policy, log) = (files.path().join("policy.yaml"), files.path().join("audit.log"));
    std::fs::write(&policy, AUDIT).unwrap();
    let flags = [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())];
    let options = flags.into_iter().fold(Cluster::options().controller_manager(), ClusterOptions::apiserver_flag);
    let world = World::start_in(options.start().await.unwrap()).await;
    let mut server = world.spawn();
    let admin = world.admin();
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.catalog.bailiwick.dev --timeout=60s").await;
    done_soon(admin, "get resourcecatalogs").await;
    admin.apply(CLUSTER).await.unwrap();
    for binding in BINDINGS {
        done(admin, &format!("create rolebinding {binding}")).await;
    }
    admin.apply(CATALOG).await.unwrap();
    let (pat, eddie) = (user(&world.cluster, "pat", &[]).await, user(&world.cluster, "eddie", &[]).await);
    done_soon(&pat, "get resourcecatalogentries -n shop").await;
    done_soon(&eddie, "get resourcecatalogclaims -n here").await;
    what_is_published_was_found(admin, &pat).await;
    a_claim_needs_that_accounts_may_be_acted_as(admin, &eddie).await;
    claims_are_realized_and_follow(admin, &eddie).await;
    each_resource_fails_by_itself(admin, &pat, &eddie).await;
    another_of_the_same_name_is_not_shared(admin, &pat).await;
    claims_go_with_what_they_made(admin, &eddie).await;
    server.stop().await;
    nothing_was_done_as_ourselves(&log);
}

async fn what_is_published_was_found(admin: &Kubectl, pat: &Kubectl) {
    let both = entry("both", &local(&[("Secret", "creds"), ("ConfigMap", "settings")]));
    let mallory = admin.run_with(["create", "--as=mallory", "-f", "-"], &both).await.unwrap();
    assert!(!mallory.status.success() && mallory.stderr.contains("orbidden"), "{mallory:?}");
    let made = pat.run_with(["create", "-o", "json", "-f", "-"], &both).await.unwrap().success().unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    let exposed = made["status"]["localResources"]["exposedResources"].as_array().unwrap();
    assert_eq!(exposed.len(), 2, "{made}");
    let uid = done(admin, "get secret creds -n shop -o jsonpath={.metadata.uid}").await;
    assert_eq!(exposed[0]["uid"], uid.as_str());
    let missing = entry("none", &local(&[("Secret", "absent")]));
    refused_with(pat, "create -f -", &missing, "Not found: \"Secret/absent\"").await;
    let bad = json!({ "resourceList": { "resources": [{
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "x" }, "spec": { "replicas": "many" },
    }] } });
    refused_with(pat, "create -f -", &entry("bad", &bad), "spec.resourceList.resources[0].spec").await;
    says(admin, "rce both -n shop", "Accepted", "True", "Accepted").await;
}

/// Nobody is acted as before whoever administers the namespace allows it; what to do is told, and then it goes on by itself.
async fn a_claim_needs_that_accounts_may_be_acted_as(admin: &Kubectl, eddie: &Kubectl) {
    done(admin, "create rolebinding claim-elsewhere -n shop --role=publish-gold --user=eddie").await;
    let mine = claim("mine", "both", &json!({ "keepSynchronized": true }));
    eddie.run_with(["create", "-f", "-"], &mine).await.unwrap().success().unwrap();
    let told = says(admin, "rcc mine -n here", "Ready", "False", "NotActing").await;
    let message = condition(&told, "Ready")["message"].as_str().unwrap().to_owned();
    let (_, command) = message.split_once("allows that with: kubectl ").unwrap();
    let command = command.split(';').next().unwrap();
    done(admin, command).await;
}

async fn claims_are_realized_and_follow(admin: &Kubectl, eddie: &Kubectl) {
    says(admin, "rcc mine -n here", "Ready", "True", "Realized").await;
    let copy = "get configmap settings -n here -o jsonpath={.data.colour}";
    assert_eq!(done(admin, copy).await, "blue");
    assert_eq!(done(admin, "get secret creds -n here -o jsonpath={.data.password}").await, "aHVudGVyMg==");
    done(admin, "patch configmap settings -n shop --type=merge -p {\"data\":{\"colour\":\"red\"}}").await;
    eventually(admin, copy, "red").await;
    done(admin, "patch configmap settings -n here --type=merge -p {\"data\":{\"colour\":\"pink\",\"more\":\"x\"}}")
        .await;
    eventually(admin, copy, "red").await;
    // A key that the source has no more goes from the copy, too.
    done(admin, "patch configmap settings -n shop --type=merge -p {\"data\":{\"colour\":null,\"size\":\"big\"}}").await;
    eventually(admin, copy, "").await;
    let stale =
        claim("stale", "both", &json!({ "resourceCatalogEntry": { "namespace": "shop", "name": "both", "uid": "x" } }));
    refused_with(eddie, "create -f -", &stale, "Conflict").await;
    refused_with(eddie, "create -f -", &claim("none", "absent", &json!({})), "is no entry of the catalog").await;
}

async fn each_resource_fails_by_itself(admin: &Kubectl, pat: &Kubectl, eddie: &Kubectl) {
    let named = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let gift = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "gift" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory" }],
    });
    let list = json!({ "resourceList": { "resources": [named("first"), gift, named("taken"), named("last")] } });
    done(admin, "create configmap taken -n here --from-literal=theirs=yes").await;
    pat.run_with(["create", "-f", "-"], &entry("set", &list)).await.unwrap().success().unwrap();
    says(admin, "rce set -n shop", "Accepted", "True", "Accepted").await;
    eddie.run_with(["create", "-f", "-"], &claim("set", "set", &json!({}))).await.unwrap().success().unwrap();
    let told = says(admin, "rcc set -n here", "Ready", "False", "Incomplete").await;
    let errors: Vec<&str> =
        told["status"]["errors"].as_array().unwrap().iter().map(|error| error["reason"].as_str().unwrap()).collect();
    assert_eq!(errors, ["Forbidden", "AlreadyExists"]);
    assert_eq!(told["status"]["createdResources"].as_array().unwrap().len(), 2);
    assert_eq!(done(admin, "get configmap taken -n here -o jsonpath={.data.theirs}").await, "yes");
    assert_eq!(done(admin, "get rolebinding gift -n here --ignore-not-found -o name").await, "");
}

async fn another_of_the_same_name_is_not_shared(admin: &Kubectl, pat: &Kubectl) {
    done(admin, "delete secret creds -n shop").await;
    done(admin, "create secret generic creds -n shop --from-literal=password=other").await;
    says(admin, "rcc mine -n here", "Synced", "False", "SourceReplaced").await;
    assert_eq!(done(admin, "get secret creds -n here -o jsonpath={.data.password}").await, "aHVudGVyMg==");
    // Its publisher writes the entry again.
    let both = done(pat, "get rce both -n shop -o json").await;
    pat.run_with(["replace", "-f", "-"], &both).await.unwrap().success().unwrap();
    says(admin, "rcc mine -n here", "Synced", "True", "InSync").await;
    eventually(admin, "get secret creds -n here -o jsonpath={.data.password}", "b3RoZXI=").await;
}

/// Kubernetes' own garbage collector removes what claims made.
async fn claims_go_with_what_they_made(admin: &Kubectl, eddie: &Kubectl) {
    done(eddie, "patch rcc set -n here --type=merge -p {\"spec\":{\"deletionPolicy\":\"Orphan\"}}").await;
    done(eddie, "delete rcc mine set -n here --timeout=60s").await;
    eventually(admin, "get secret creds -n here --ignore-not-found -o name", "").await;
    let left = done(admin, "get configmap first -n here -o jsonpath={.metadata.ownerReferences}").await;
    assert_eq!(left, "", "it stays, and is nobody's");
}

/// Of what the servers' account did under its own name, nothing is an object of a user.
fn nothing_was_done_as_ourselves(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut own, mut acted) = (BTreeSet::new(), BTreeSet::new());
    for event in events.filter(|event| event["user"]["username"] == "system:serviceaccount:bailiwick-system:bailiwick")
    {
        let verb = event["verb"].as_str().unwrap_or_default().to_owned();
        let resource = event["objectRef"]["resource"].as_str().unwrap_or_default().to_owned();
        let refused = event["responseStatus"]["code"].as_i64().is_some_and(|code| code >= 400);
        // Whoever was not let act as someone else yet is logged as themselves.
        let message = event["responseStatus"]["message"].as_str().unwrap_or_default();
        if message.contains("\" cannot impersonate") {
            continue;
        }
        match event["impersonatedUser"]["username"].as_str() {
            Some(user) if !refused => drop(acted.insert((user.to_owned(), verb, resource))),
            Some(_) => {}
            None => drop(own.insert((verb, resource))),
        }
    }
    for (verb, resource) in &own {
        // The server's own authority is in a Secret, and what it believes of clients in a ConfigMap.
        assert!(!matches!(verb.as_str(), "list" | "watch") || resource != "secrets", "{verb} {resource}");
        let is_write = matches!(verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        let may_write = [
            "apiservices",
            "events",
            "leases",
            "rolebindings",
            "secrets",
            "selfsubjectreviews",
            "subjectaccessreviews",
            "tokenreviews",
        ];
        assert!(!is_write || may_write.contains(&resource.as_str()), "{verb} {resource}");
    }
    let has = |user: &str, verb: &str, resource: &str| {
        acted.contains(&(format!("system:serviceaccount:{user}"), verb.to_owned(), resource.to_owned()))
    };
    assert!(has("here:maker", "create", "secrets") && has("here:maker", "patch", "configmaps"), "{acted:#?}");
    assert!(has("shop:publisher", "get", "secrets") && has("shop:publisher", "watch", "configmaps"), "{acted:#?}");
    let wrote = |user: &str| {
        acted
            .iter()
            .any(|(who, verb, _)| who == user && matches!(verb.as_str(), "create" | "update" | "patch" | "delete"))
    };
    assert!(!wrote("system:serviceaccount:shop:publisher"), "it only reads");
}

fn condition<'o>(object: &'o Value, wanted: &str) -> &'o Value {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().find(|condition| condition["type"] == wanted).unwrap_or(&Value::Null)
}

/// Waits until an object says this. Gives it.
async fn says(admin: &Kubectl, object: &str, wanted: &str, status: &str, reason: &str) -> Value {
    let began = Instant::now();
    loop {
        let found: Value = serde_json::from_str(&done(admin, &format!("get {object} -o json")).await).unwrap();
        let condition = condition(&found, wanted);
        if condition["status"] == status && condition["reason"] == reason {
            return found;
        }
        assert!(began.elapsed() < 3 * PATIENCE, "not {wanted}={status} for {reason}: {found}");
        sleep(Duration::from_millis(200)).await;
    }
}

async fn eventually(admin: &Kubectl, command: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let text = done(admin, command).await;
        if text == wanted {
            return;
        }
        assert!(began.elapsed() < 3 * PATIENCE, "{command}: {text}");
        sleep(Duration::from_millis(200)).await;
    }
}
