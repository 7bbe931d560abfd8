//! Claims whose controllers end at every point at which they write, and begin anew, or run twice at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick_api::{
    CLAIM_DEFINITION_FINALIZER, ConditionStatus, ResourceBindingDefinition, ResourceClaimDefinition, ServiceAccountRef,
};
use bailiwick_controllers::{ClaimController, ClaimDefinitionController, Clients, GarbageCollector};
use bailiwick_registry::{Clock, SystemClock};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::brittle::{End, everyone};
use crate::site::{SOON, Site, comes, gone};

const GROUP: &str = "crash.example.org";
/// Where providers write their Secrets.
const PROVIDER: &str = "b";

async fn controller(clients: Clients) {
    let provisioner = ServiceAccountRef::new("bailiwick-system", "provisioner").unwrap();
    ClaimController::new(clients, provisioner, || SystemClock.now()).run().await;
}

// === impl Site ===

impl Site {
    /// With kinds of claims, resources and classes, and a definition that binds them.
    async fn furnish(&self, resources: Value) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let claim_ref = json!({ "type": "object", "properties": {
            "uid": { "type": "string" }, "name": { "type": "string" }, "namespace": { "type": "string" },
            "kind": { "type": "string" }, "apiVersion": { "type": "string" },
        } });
        let to = json!({ "type": "object", "properties": { "namespace": { "type": "string" }, "name": { "type": "string" } } });
        let spec = json!({ "type": "object", "properties": {
            "claimRef": claim_ref, "size": { "type": "integer" }, "writeConnectionSecretToRef": to,
        } });
        // Without conditions: it is ready when it is there.
        let status = json!({ "type": "object", "properties": { "bindingPhase": { "type": "string" } } });
        self.define("Server", "Cluster", json!({ "spec": spec, "status": status })).await;
        let class = json!({ "specTemplate": open, "reclaimPolicy": { "type": "string" } });
        self.define("ServerClass", "Cluster", class).await;
        self.define("Database", "Namespaced", json!({ "spec": open, "status": open })).await;
        let version = format!("{GROUP}/v1");
        let definition = json!({
            "metadata": { "name": "databases" },
            "spec": { "claim": { "apiVersion": version, "kind": "Database" }, "resources": resources },
        });
        let definitions: Api<ResourceBindingDefinition> = Api::all(self.client.clone());
        self.make(&definitions, definition).await;
        let _whole = self.claim_controller(self.client.clone());
        comes(&definitions, "databases", |found| {
            let conditions = found.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|one| one.condition_type == "Ready" && one.status == ConditionStatus::True)
        })
        .await;
    }

    async fn define(&self, kind: &str, scope: &str, properties: Value) {
        let definition = json!({
            "metadata": { "name": format!("{}.{GROUP}", plural(kind)) },
            "spec": {
                "group": GROUP, "scope": scope, "names": { "kind": kind, "plural": plural(kind) },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
                }],
            },
        });
        self.make(&Api::<CustomResourceDefinition>::all(self.client.clone()), definition).await;
    }

    fn claim_controller(&self, client: Client) -> AbortOnDropHandle<()> {
        Self::start(client, controller)
    }

    fn objects(&self, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", kind), &plural(kind));
        match kind {
            "Database" => Api::namespaced_with(self.client.clone(), "a", &resource),
            _ => Api::all_with(self.client.clone(), &resource),
        }
    }

    async fn post(&self, kind: &str, name: &str, more: Value) -> DynamicObject {
        let mut object = json!({ "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": { "name": name } });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let object = serde_json::from_value(object).unwrap();
        self.objects(kind).create(&PostParams::default(), &object).await.unwrap()
    }

    async fn bound(&self, name: &str) -> DynamicObject {
        let is_whole = |claim: &DynamicObject| {
            claim.data["status"]["bindingPhase"] == "Bound" && claim.data["status"]["binding"]["name"].is_string()
        };
        comes(&self.objects("Database"), name, is_whole).await
    }

    async fn servers(&self) -> Vec<DynamicObject> {
        self.objects("Server").list(&ListParams::default()).await.unwrap().items
    }

    /// What is a claim's is what it says, and nothing else says that it is the claim's.
    async fn check_claim(&self, claim: &DynamicObject) {
        let uid = claim.uid().unwrap();
        let servers = self.servers().await;
        let made: BTreeSet<String> =
            servers.iter().filter(|server| owner(server) == Some(&uid)).map(|server| server.uid().unwrap()).collect();
        let bindings = claim.data["status"]["bindings"].as_array().unwrap();
        let known: BTreeSet<String> =
            bindings.iter().map(|binding| binding["resourceRef"]["uid"].as_str().unwrap().to_owned()).collect();
        assert_eq!((&made, made.len()), (&known, 2), "{}", claim.name_any());
        let named = servers.iter().filter(|server| server.name_any().starts_with(&claim.name_any())).count();
        assert_eq!(named, 2, "nothing else was made for {}", claim.name_any());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "a");
        let secret = secrets.get(&claim.name_any()).await.unwrap();
        assert_eq!(secret.owner_references()[0].uid, uid);
        assert!(secret.data.unwrap_or_default().contains_key("password"));
    }

    /// Deletes a claim whose controller ends after so many writes. Whether it has.
    async fn claim_removed(&self, name: &str, writes: usize, end: End) -> bool {
        let claims = self.objects("Database");
        claims.delete(name, &DeleteParams::default()).await.unwrap();
        let ended = self.run_brittle(controller, (writes, end), gone(&claims, name)).await;
        let _whole = self.claim_controller(self.client.clone());
        gone(&claims, name).await;
        gone(&Api::<Secret>::namespaced(self.client.clone(), "a"), name).await;
        let nothing = async {
            while self.servers().await.iter().any(|server| server.name_any().starts_with(name)) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, nothing).await.unwrap_or_else(|_| panic!("something is left of {name}"));
        ended
    }
}

/// Writes the Secret of each server, as a provider does.
async fn provide(client: Client) {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", "Server"), "servers");
    let servers: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let secrets: Api<Secret> = Api::namespaced(client, PROVIDER);
    loop {
        for server in servers.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
            let secret = json!({
                "metadata": {
                    "name": server.name_any(),
                    "ownerReferences": [{
                        "apiVersion": format!("{GROUP}/v1"), "kind": "Server", "name": server.name_any(), "uid": server.uid(),
                        "controller": true,
                    }],
                },
                "data": { "password": "c2VjcmV0" },
            });
            // It may be there.
            drop(secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// R-26, N-02: before and after each write, of what satisfies a claim and of what releases it, another controller finds what there
/// is and comes to the same end: nothing is made or bound twice, nothing is left.
#[tokio::test(flavor = "multi_thread")]
async fn it_converges_from_a_crash_at_every_write() {
    let mut site = Site::open().await;
    site.run(GarbageCollector::new(site.client.clone()).run());
    let version = format!("{GROUP}/v1");
    let entry = json!({
        "resource": { "apiVersion": version, "kind": "Server" }, "class": { "apiVersion": version, "kind": "ServerClass" },
    });
    site.furnish(json!([entry, entry])).await;
    site.run(provide(site.client.clone()));
    let template = json!({ "size": 1, "writeConnectionSecretToRef": { "namespace": PROVIDER } });
    let class = json!({
        "metadata": { "name": "gold", "annotations": { "claim.bailiwick.dev/is-default-class": "true" } },
        "specTemplate": template,
    });
    site.post("ServerClass", "gold", class).await;
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("db-{writes}-{}", format!("{end:?}").to_lowercase());
            site.post("Database", &name, json!({ "spec": {} })).await;
            let ended = site.run_brittle(controller, (writes, end), async { drop(site.bound(&name).await) }).await;
            {
                let _whole = site.claim_controller(site.client.clone());
                let claim = site.bound(&name).await;
                site.check_claim(&claim).await;
            }
            points += usize::from(ended);
            let removed = site.claim_removed(&name, writes, end).await;
            points += usize::from(removed);
            if !ended && !removed {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    println!("{points} points were tried");
    assert!(points >= 20, "{points} points were tried");
}

/// R-26, N-03: controllers of which two run at a time, and end after few writes again and again, bind each resource once: in
/// no state a resource changes hands.
#[tokio::test(flavor = "multi_thread")]
async fn two_that_crash_bind_each_resource_once() {
    let site = Site::open().await;
    let version = format!("{GROUP}/v1");
    site.furnish(json!([{
        "resource": { "apiVersion": version, "kind": "Server" }, "class": { "apiVersion": version, "kind": "ServerClass" },
        "preferExisting": true,
    }]))
    .await;
    const POOL: usize = 6;
    for number in 0..POOL {
        site.post("Server", &format!("s{number}"), json!({ "spec": {} })).await;
    }
    for number in 0..2 * POOL {
        site.post("Database", &format!("db{number}"), json!({ "spec": {} })).await;
    }
    // State by state: of each server, whose it has said that it is.
    let owners: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>> = Arc::default();
    let (seen, changes) = (owners.clone(), watcher(site.objects("Server"), watcher::Config::default()));
    let _watch = AbortOnDropHandle::new(tokio::spawn(changes.applied_objects().for_each(move |server| {
        let server = server.unwrap();
        if let Some(uid) = owner(&server) {
            seen.lock().unwrap().entry(server.name_any()).or_default().insert(uid.clone());
        }
        std::future::ready(())
    })));
    let owned = || owners.lock().unwrap().len();
    let mut rounds = 0;
    while owned() < POOL {
        let ((one, one_ended), (other, other_ended)) =
            (site.brittle(1 + rounds % 7, End::After), site.brittle(2 + rounds % 5, End::Before));
        let _controllers = [site.claim_controller(one), site.claim_controller(other)];
        let both = async { tokio::join!(one_ended.notified(), other_ended.notified()) };
        // The last ones may have nothing left to write.
        drop(timeout(Duration::from_secs(2), both).await);
        rounds += 1;
        assert!(rounds < 100, "it does not come to an end: {owners:?}");
    }
    println!("{rounds} pairs of controllers");
    let _whole = [site.claim_controller(site.client.clone()), site.claim_controller(site.client.clone())];
    let claims = site.objects("Database");
    let all_bound = async {
        loop {
            let found = claims.list(&ListParams::default()).await.unwrap().items;
            let bound: BTreeMap<String, BTreeSet<String>> = found
                .iter()
                .filter(|claim| claim.data["status"]["bindingPhase"] == "Bound")
                .map(|claim| {
                    let name = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap();
                    (name.to_owned(), BTreeSet::from([claim.uid().unwrap()]))
                })
                .collect();
            if bound.len() == POOL {
                return bound;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let bound = timeout(SOON, all_bound).await.expect("all of the pool is bound");
    assert_eq!(bound, *owners.lock().unwrap(), "each has had one owner, from the first state to the last");
}

/// the kind that a definition of claims becomes is made and removed, wherever its controller ends.
#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_claims_converge_too() {
    let site = Site::open().await;
    let definitions: Api<ResourceClaimDefinition> = Api::all(site.client.clone());
    let kinds: Api<CustomResourceDefinition> = Api::all(site.client.clone());
    let run = |client: Client| {
        let provisioner = ServiceAccountRef::new("bailiwick-system", "provisioner").unwrap();
        let controller = ClaimDefinitionController::new(everyone(client), provisioner, || SystemClock.now());
        AbortOnDropHandle::new(tokio::spawn(controller.run()))
    };
    let is_ready = |found: &ResourceClaimDefinition| {
        let conditions = found.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|one| one.condition_type == "Ready" && one.status == ConditionStatus::True)
    };
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let word = format!("{}{writes}", format!("{end:?}").to_lowercase());
            let (name, kind) = (format!("made-{word}"), format!("Made{word}"));
            // As it is when it has been accepted.
            let definition = json!({
                "metadata": { "name": name, "finalizers": [CLAIM_DEFINITION_FINALIZER] },
                "spec": { "group": GROUP, "version": "v1", "names": { "kind": kind, "plural": plural(&kind) } },
            });
            site.make(&definitions, definition).await;
            let crash = async |until: &mut (dyn Future<Output = ()> + Unpin + Send)| {
                let (client, ended) = site.brittle(writes, end);
                let _controller = run(client);
                tokio::select! {
                    () = ended.notified() => true,
                    () = until => false,
                }
            };
            let ready = || Box::pin(async { drop(comes(&definitions, &name, is_ready).await) });
            let made = crash(&mut ready()).await;
            let crd = format!("{}.{GROUP}", plural(&kind));
            {
                let _whole = run(site.client.clone());
                ready().await;
                let found = kinds.get(&crd).await.unwrap();
                let uid = definitions.get(&name).await.unwrap().uid().unwrap();
                assert_eq!(found.annotations()["claim.bailiwick.dev/definition-uid"], uid);
            }
            definitions.delete(&name, &DeleteParams::default()).await.unwrap();
            let removed = crash(&mut Box::pin(gone(&definitions, &name))).await;
            {
                let _whole = run(site.client.clone());
                gone(&definitions, &name).await;
                gone(&kinds, &crd).await;
            }
            points += usize::from(made) + usize::from(removed);
            if !made && !removed {
                break;
            }
            assert!(writes < 30, "it writes for ever");
        }
    }
    println!("{points} points were tried");
    assert!(points >= 8, "{points} points were tried");
}

fn plural(kind: &str) -> String {
    match kind.to_lowercase() {
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind => format!("{kind}s"),
    }
}

/// Whose a server says it is.
fn owner(server: &DynamicObject) -> Option<&String> {
    match &server.data["spec"]["claimRef"]["uid"] {
        Value::String(uid) => Some(uid),
        _ => None,
    }
}
