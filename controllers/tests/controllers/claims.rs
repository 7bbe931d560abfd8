//! Claims whose controllers end at every point at which they write, and begin anew, or run twice at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick_api::{
    CLAIM_DEFINITION_FINALIZER, ConditionStatus, ResourceBindingDefinition, ResourceClaimDefinition, ServiceAccountRef,
};
use bailiwick_controllers::{ClaimDefinitionController, GarbageCollector};
use bailiwick_registry::{Clock, SystemClock};
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::brittle::{End, everyone};
use crate::claim_site::{GROUP, PROVIDER, controller, owner, plural, provide};
use crate::site::{SOON, Site, comes, gone, stays};

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
    site.default_class("ServerClass", "gold", template).await;
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
    site.furnish_pool().await;
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

/// R-26, N-05, D-RCD-13: what was made or bound for a claim that had gone meanwhile goes too, or is released, as it says; what is
/// a living claim's, or nobody's hold, is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_for_a_claim_that_is_gone() {
    let site = Site::open().await;
    site.furnish_pool().await;
    let held = async |name: &str, policy: &str, uid: &str, finalizers: Value| {
        let metadata = json!({
            "name": name, "finalizers": finalizers, "annotations": { "claim.bailiwick.dev/reclaim-policy": policy },
        });
        let version = format!("{GROUP}/v1");
        let claim = json!({ "apiVersion": version, "kind": "Database", "namespace": "a", "name": "db", "uid": uid });
        site.post("Server", name, json!({ "metadata": metadata, "spec": { "claimRef": claim } })).await;
    };
    let bound = json!(["claim.bailiwick.dev/bound"]);
    let servers = site.objects("Server");
    held("before", "Delete", "gone", bound.clone()).await;
    let _whole = site.claim_controller(site.client.clone());
    gone(&servers, "before").await;
    // Another claim of the same name is not the one.
    let alive = site.post("Database", "db", json!({ "spec": { "classRef": { "name": "none" } } })).await.uid().unwrap();
    held("later", "Delete", "gone", bound.clone()).await;
    held("kept", "Retain", "gone", bound.clone()).await;
    held("used", "Delete", &alive, bound.clone()).await;
    held("loose", "Delete", "gone", json!([])).await;
    gone(&servers, "later").await;
    let kept = comes(&servers, "kept", |server| server.data["status"]["bindingPhase"] == "Released").await;
    assert_eq!(owner(&kept).map(String::as_str), Some("gone"));
    comes(&servers, "kept", |server| server.finalizers().is_empty()).await;
    assert_eq!(stays(&servers, "used").await.metadata.deletion_timestamp, None);
    assert_eq!(servers.get("loose").await.unwrap().metadata.deletion_timestamp, None);
    // With its claim it goes, although that never knew of it.
    site.objects("Database").delete("db", &DeleteParams::default()).await.unwrap();
    gone(&servers, "used").await;
}

/// R-26, N-02: what was made or bound for a claim that has something else in its place goes too, or is released, as soon as the
/// claim has all that it gets.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_for_a_claim_that_has_something_else() {
    let site = Site::open().await;
    site.furnish_one().await;
    let uid = site.post("Database", "db", json!({ "spec": {} })).await.uid().unwrap();
    let held = async |name: &str, policy: &str| {
        let metadata = json!({
            "name": name, "finalizers": ["claim.bailiwick.dev/bound"],
            "annotations": { "claim.bailiwick.dev/reclaim-policy": policy },
        });
        let version = format!("{GROUP}/v1");
        let claim = json!({ "apiVersion": version, "kind": "Database", "namespace": "a", "name": "db", "uid": uid });
        site.post("Server", name, json!({ "metadata": metadata, "spec": { "claimRef": claim } })).await;
    };
    let servers = site.objects("Server");
    held("before", "Delete").await;
    let _whole = site.claim_controller(site.client.clone());
    assert_eq!(stays(&servers, "before").await.metadata.deletion_timestamp, None, "it may become the claim's");
    site.default_class("ServerClass", "gold", json!({})).await;
    let is_bound = |claim: &DynamicObject| claim.data["status"]["bindingPhase"] == "Bound";
    let claim = comes(&site.objects("Database"), "db", is_bound).await;
    gone(&servers, "before").await;
    held("later", "Delete").await;
    held("kept", "Retain").await;
    gone(&servers, "later").await;
    comes(&servers, "kept", |server| server.finalizers().is_empty()).await;
    let own = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap();
    let server = stays(&servers, own).await;
    assert!(server.metadata.deletion_timestamp.is_none() && !server.finalizers().is_empty(), "{server:#?}");
}

/// B-RCD-9: a class that is used stays, also if whoever has just begun to look sees all classes before any claim.
#[tokio::test(flavor = "multi_thread")]
async fn a_used_class_stays_until_its_users_are_seen() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    site.post("Database", "db", json!({ "spec": {} })).await;
    let is_bound = |claim: &DynamicObject| claim.data["status"]["bindingPhase"] == "Bound";
    {
        let _whole = site.claim_controller(site.client.clone());
        comes(&site.objects("Database"), "db", is_bound).await;
    }
    let classes = site.objects("ServerClass");
    classes.delete("gold", &DeleteParams::default()).await.unwrap();
    let (road, client) = site.road();
    *road.astray.lock().unwrap() = ("/databases", usize::MAX);
    let _controller = site.claim_controller(client);
    let class = stays(&classes, "gold").await;
    assert!(class.metadata.deletion_timestamp.is_some());
    // When they have been seen, and the last has gone, it goes.
    *road.astray.lock().unwrap() = ("", 0);
    let claims = site.objects("Database");
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    gone(&claims, "db").await;
    gone(&classes, "gold").await;
}

/// RCD-38, D-RCD-5: 500 definitions are handled by one controller; a claim that all of them could satisfy goes to the first.
#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_definitions() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let definitions: Api<ResourceBindingDefinition> = Api::all(site.client.clone());
    for number in 1..500 {
        let version = format!("{GROUP}/v1");
        let definition = json!({
            "metadata": { "name": format!("more-{number}") },
            "spec": { "claim": { "apiVersion": version, "kind": "Database" }, "resources": site.one() },
        });
        site.make(&definitions, definition).await;
    }
    let _whole = site.claim_controller(site.client.clone());
    let all_ready = async {
        let is_ready = |definition: &ResourceBindingDefinition| {
            let conditions = definition.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|one| one.condition_type == "Ready" && one.status == ConditionStatus::True)
        };
        while definitions.list(&ListParams::default()).await.unwrap().iter().filter(|one| is_ready(one)).count() < 500 {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(SOON, all_ready).await.expect("all of them are ready");
    site.post("Database", "db", json!({ "spec": {} })).await;
    let claim = comes(&site.objects("Database"), "db", |claim| claim.data["status"]["bindingPhase"] == "Bound").await;
    assert_eq!(claim.data["status"]["definition"]["name"], "databases");
    assert_eq!(site.servers().await.len(), 1);
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
