//! The client library that controllers in Rust are written with.

use std::collections::BTreeMap;
use std::time::Duration;

use bailiwick_api::{Organization, ResourceCatalogEntry, ResourceCatalogEntrySpec};
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

type Entry = ResourceCatalogEntry;

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_read_and_written_by_their_types() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let client = connect(&server).await;
    let entries: Api<Entry> = Api::namespaced(client.clone(), "default");

    let made = entries.create(&PostParams::default(), &entry("hammer")).await.unwrap();
    assert_eq!((made.name_any(), made.metadata.generation), ("hammer".to_owned(), Some(1)));
    let again = entries.create(&PostParams::default(), &entry("hammer")).await.unwrap_err();
    assert!(matches!(&again, kube::Error::Api(status) if status.is_already_exists()), "{again}");
    assert!(entries.get_opt("missing").await.unwrap().is_none());

    let mut changed = made.clone();
    changed.spec.description = "drives nails".to_owned();
    let replaced = entries.replace("hammer", &PostParams::default(), &changed).await.unwrap();
    assert_eq!(replaced.metadata.generation, Some(2));
    let stale = entries.replace("hammer", &PostParams::default(), &changed).await.unwrap_err();
    assert!(matches!(&stale, kube::Error::Api(status) if status.is_conflict()), "{stale}");
    let patch = Patch::Merge(json!({"status": {"serviceAccount": {"name": "four", "uid": "4"}}}));
    let patched = entries.patch_status("hammer", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.status.unwrap().service_account.unwrap().uid, "4");
    let metadata = entries.get_metadata("hammer").await.unwrap();
    assert_eq!(metadata.metadata.uid, made.metadata.uid);

    for number in 0..5 {
        entries.create(&PostParams::default(), &entry(&format!("nail-{number}"))).await.unwrap();
    }
    let page = entries.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!((page.items.len(), page.metadata.remaining_item_count), (2, Some(4)));
    let rest = entries.list(&ListParams::default().continue_token(&page.metadata.continue_.unwrap())).await.unwrap();
    assert_eq!(rest.items.len(), 4);
    assert!(entries.delete("hammer", &DeleteParams::default()).await.unwrap().is_right());
    let all = entries.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
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
    let entries: Api<Entry> = Api::namespaced(client, "default");
    for number in 0..20 {
        entries.create(&PostParams::default(), &entry(&format!("early-{number}"))).await.unwrap();
    }
    let (reader, writer) = reflector::store();
    let events = watcher(entries.clone(), config).default_backoff().reflect(writer).touched_objects();
    let following = tokio::spawn(events.try_for_each(async |_| Ok(())));
    timeout(PATIENCE, reader.wait_until_ready()).await.expect("a first list").unwrap();
    assert_eq!(reader.len(), 20);
    churn(&entries).await;

    let list = entries.list(&ListParams::default()).await.unwrap();
    let listed: BTreeMap<_, _> = list.items.into_iter().map(|entry| (entry.name_any(), entry)).collect();
    assert_eq!(listed.len(), 30);
    let began = Instant::now();
    loop {
        let held: BTreeMap<_, _> =
            reader.state().into_iter().map(|entry| (entry.name_any(), (*entry).clone())).collect();
        if held == listed {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{:?} instead of {:?}", held.keys(), listed.keys());
        sleep(Duration::from_millis(20)).await;
    }
    following.abort();
    entries.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
}

/// Ten of the early entries go, the others change, and twenty new ones come.
async fn churn(entries: &Api<Entry>) {
    let each = |number: usize| async move {
        let early = format!("early-{number}");
        if number.is_multiple_of(2) {
            entries.delete(&early, &DeleteParams::default()).await.unwrap();
        } else {
            let patch = Patch::Merge(json!({"spec": {"description": format!("other-{number}")}}));
            entries.patch(&early, &PatchParams::default(), &patch).await.unwrap();
        }
        entries.create(&PostParams::default(), &entry(&format!("late-{number}"))).await.unwrap();
    };
    futures::stream::iter(0..20).for_each_concurrent(4, each).await;
}

async fn connect(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.data.join("admin.kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn entry(name: &str) -> Entry {
    let extension = json!({ "apiVersion": "example.com/v1", "kind": "Template" }).as_object().cloned();
    let spec = ResourceCatalogEntrySpec { extension, ..ResourceCatalogEntrySpec::default() };
    let mut entry = Entry { spec, ..Entry::default() };
    entry.metadata.name = Some(name.to_owned());
    entry
}

fn named(name: &str) -> Organization {
    let mut organization = Organization::default();
    organization.metadata.name = Some(name.to_owned());
    organization
}
