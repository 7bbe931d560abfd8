//! The client library that controllers in Rust are written with.

use std::collections::BTreeMap;
use std::time::Duration;

use bailiwick_api::{EntryReference, Organization, ResourceCatalogClaim, ResourceCatalogClaimSpec};
use bailiwick_test_host::Etcd;
use futures::{StreamExt, TryStreamExt};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::process::{PATIENCE, Server, folder};
use crate::turn::turn;

type Claim = ResourceCatalogClaim;

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_read_and_written_by_their_types() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let client = connect(&server).await;
    let claims: Api<Claim> = Api::namespaced(client.clone(), "default");

    let made = claims.create(&PostParams::default(), &claim("hammer")).await.unwrap();
    assert_eq!((made.name_any(), made.metadata.generation), ("hammer".to_owned(), Some(1)));
    let again = claims.create(&PostParams::default(), &claim("hammer")).await.unwrap_err();
    assert!(matches!(&again, kube::Error::Api(status) if status.is_already_exists()), "{again}");
    assert!(claims.get_opt("missing").await.unwrap().is_none());

    let mut changed = made.clone();
    changed.spec.keep_synchronized = true;
    let replaced = claims.replace("hammer", &PostParams::default(), &changed).await.unwrap();
    assert_eq!(replaced.metadata.generation, Some(2));
    let stale = claims.replace("hammer", &PostParams::default(), &changed).await.unwrap_err();
    assert!(matches!(&stale, kube::Error::Api(status) if status.is_conflict()), "{stale}");
    let patch = Patch::Merge(json!({"status": {"entryGeneration": 4}}));
    let patched = claims.patch_status("hammer", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.status.unwrap().entry_generation, Some(4));
    let metadata = claims.get_metadata("hammer").await.unwrap();
    assert_eq!(metadata.metadata.uid, made.metadata.uid);

    for number in 0..5 {
        claims.create(&PostParams::default(), &claim(&format!("nail-{number}"))).await.unwrap();
    }
    let page = claims.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!((page.items.len(), page.metadata.remaining_item_count), (2, Some(4)));
    let rest = claims.list(&ListParams::default().continue_token(&page.metadata.continue_.unwrap())).await.unwrap();
    assert_eq!(rest.items.len(), 4);
    assert!(claims.delete("hammer", &DeleteParams::default()).await.unwrap().is_right());
    let all = claims.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert_eq!(all.left().unwrap().items.len(), 5);

    let organizations: Api<Organization> = Api::all(client);
    let acme = Organization { member_users: vec!["ann".to_owned()], ..named("Acme") };
    organizations.create(&PostParams::default(), &acme).await.unwrap();
    assert_eq!(organizations.get("Acme").await.unwrap().member_users, ["ann"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_holds_what_the_server_holds() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        reflect(&server, config).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_holds_what_etcd_holds() {
    let _turn = turn().await;
    let etcd = Etcd::options().start().await.unwrap();
    let folder = folder();
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    let server = Server::start(folder.path(), &[&servers]).await;
    reflect(&server, watcher::Config::default().streaming_lists()).await;
    server.stop().await;
}

/// Follows while objects come, change and go, and compares in the end.
async fn reflect(server: &Server, config: watcher::Config) {
    let client = connect(server).await;
    let claims: Api<Claim> = Api::namespaced(client, "default");
    for number in 0..20 {
        claims.create(&PostParams::default(), &claim(&format!("early-{number}"))).await.unwrap();
    }
    let (reader, writer) = reflector::store();
    let events = watcher(claims.clone(), config).default_backoff().reflect(writer).touched_objects();
    let following = tokio::spawn(events.try_for_each(async |_| Ok(())));
    timeout(PATIENCE, reader.wait_until_ready()).await.expect("a first list").unwrap();
    assert_eq!(reader.len(), 20);
    churn(&claims).await;

    let list = claims.list(&ListParams::default()).await.unwrap();
    let listed: BTreeMap<_, _> = list.items.into_iter().map(|claim| (claim.name_any(), claim)).collect();
    assert_eq!(listed.len(), 30);
    let began = Instant::now();
    loop {
        let held: BTreeMap<_, _> =
            reader.state().into_iter().map(|claim| (claim.name_any(), (*claim).clone())).collect();
        if held == listed {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{:?} instead of {:?}", held.keys(), listed.keys());
        sleep(Duration::from_millis(20)).await;
    }
    following.abort();
    claims.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
}

/// Ten of the early claims go, the others change, and twenty new ones come.
async fn churn(claims: &Api<Claim>) {
    let each = |number: usize| async move {
        let early = format!("early-{number}");
        if number.is_multiple_of(2) {
            claims.delete(&early, &DeleteParams::default()).await.unwrap();
        } else {
            let patch = Patch::Merge(json!({"spec": {"catalogName": format!("other-{number}")}}));
            claims.patch(&early, &PatchParams::default(), &patch).await.unwrap();
        }
        claims.create(&PostParams::default(), &claim(&format!("late-{number}"))).await.unwrap();
    };
    futures::stream::iter(0..20).for_each_concurrent(4, each).await;
}

async fn connect(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.data.join("admin.kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn claim(name: &str) -> Claim {
    let entry = EntryReference { namespace: "shop".to_owned(), name: name.to_owned(), uid: None };
    let spec = ResourceCatalogClaimSpec {
        catalog_name: "tools".to_owned(),
        resource_catalog_entry: entry,
        ..ResourceCatalogClaimSpec::default()
    };
    let mut claim = Claim { spec, ..Claim::default() };
    claim.metadata.name = Some(name.to_owned());
    claim
}

fn named(name: &str) -> Organization {
    let mut organization = Organization::default();
    organization.metadata.name = Some(name.to_owned());
    organization
}
