//! What is kept beside decisions: the status of allocations, and what is left of those that are no more.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bailiwick_machinery::GroupVersion;
use bailiwick_registry::{Page, SubresourceCall};
use bailiwick_storage::{At, Change, ListOptions, Resource, Store, Txn};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::super::{SOON, ledger, ledger_rows};
use super::{Estate, GROUP, NEVER, PLURAL, spec};

// === impl Estate ===

impl Estate {
    async fn status(&self) -> Value {
        let kind = self.registry.find(&GroupVersion::new(GROUP, "v1alpha1"), PLURAL).unwrap();
        let found = self.registry.get(&kind, "", "alice", At::Latest).await.unwrap();
        found.to_object(kind.gvk()).unwrap().as_value()["status"].clone()
    }

    /// What the projects have, a page of them.
    async fn projects(&self, after: Option<&str>) -> Value {
        let group_version = GroupVersion::new(GROUP, "v1alpha1");
        let kind = self.registry.find(&group_version, PLURAL).unwrap();
        let page = Page { limit: NonZeroUsize::new(500), after };
        let (ctx, registry, namespace) = (self.ctx(), &*self.registry, "");
        let call =
            SubresourceCall { ctx: &ctx, registry, group_version: &group_version, namespace, name: "alice", page };
        let found = kind.kind().subresources()[0].get(call).await.unwrap();
        found.as_value().clone()
    }

    /// Waits until nothing is left of an allocation that is no more.
    async fn is_forgotten(&self) {
        let forgotten = async {
            let is_there = async || {
                let rows = self.store.list(ledger().all(), ListOptions::latest()).await.unwrap().records;
                rows.iter().any(|row| row.key.as_str().contains("alice"))
                    || self.allocations.metrics().reservations() > 0
            };
            while is_there().await {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, forgotten).await.expect("something stays of what is gone");
    }
}

/// Q-09, D-QUOTA-3, decisions 16: of so many ResourceQuotas that they do not fit into a status it has what matters, and is right;
/// all of them can be read, a page at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_has_room_for_what_matters() {
    let estate = Estate::unready(NEVER).await;
    for namespace in ["a", "b", "z"] {
        for number in 0..700 {
            let name = format!("{number:03}-{}", "q".repeat(400));
            let metadata = json!({ "namespace": namespace, "name": name, "uid": name, "resourceVersion": "1" });
            let quota = json!({ "metadata": metadata, "spec": { "hard": { "cpu": "1" } } });
            estate.cluster.has().quotas.insert((namespace.to_owned(), name), quota);
        }
    }
    estate.cluster.has().version = 1;
    estate.cluster.be_ready();
    estate.charge_becomes("3").await;
    let told = async {
        while estate.status().await["allocated"]["used"]["cpu"] != "3" {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, told).await.expect("the status is told");
    let status = estate.status().await;
    let rows = status["usedByProject"].as_array().unwrap();
    assert!(rows.len() == 3 && rows.iter().all(|row| row["used"]["cpu"] == "1"), "{}", rows.len());
    assert!(rows.iter().all(|row| row["quotas"].is_null()), "they do not fit");
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = estate.projects(after.as_deref()).await;
        for row in page["projects"].as_array().unwrap() {
            assert_eq!(row["quotas"].as_array().unwrap().len(), 700);
            names.push(row["namespace"].as_str().unwrap().to_owned());
        }
        assert!(page.to_string().len() < 2 << 20, "a page is not too long");
        after = page["continue"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "z"]);
}

/// D-QUOTA-8: what a status says to be of a generation is what is true of that, also where the allocation was changed while the
/// status was found out.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_status_is_of_the_generation_it_says() {
    let estate = Estate::open(NEVER).await;
    let objects = Resource::new(GROUP, PLURAL).unwrap();
    let from = estate.store.revision().await.unwrap();
    let mut versions = estate.store.watch(objects.all(), from).await.unwrap();
    estate.cluster.be_silent_about(Some("z"));
    estate.cluster.set("z", "3");
    estate.cluster.tell();
    estate.cluster.is_asked().await;
    estate.allot(spec("5")).await;
    estate.cluster.be_silent_about(None);
    loop {
        for event in timeout(SOON, versions.next()).await.expect("the status is told").unwrap().events {
            let Change::Put(value) = event.change else { panic!("it is there") };
            let status = serde_json::from_slice::<Value>(&value).unwrap()["status"].take();
            if status["conditions"][0]["observedGeneration"] != 2 {
                continue;
            }
            assert_eq!(status["allocated"]["hard"]["cpu"], "5", "{status}");
            if status["allocated"]["used"]["cpu"] == "3" {
                return;
            }
        }
    }
}

/// QUOTA-24, Q-02: of an allocation that goes while nobody keeps the books nothing is left, nor does anyone look for what was
/// reserved of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_while_nobody_looks_is_forgotten() {
    let estate = Estate::open(NEVER).await;
    assert_eq!(estate.ask("a", None, "6").await, Ok(()));
    let metrics = estate.allocations.metrics();
    let stopped = async {
        while metrics.reservations() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
        // As long as the allocation is there, nobody can read what its projects have.
        let key = ledger().row(&["accounts", "alice"], "broken").unwrap();
        estate.store.commit(Txn::new().create(key, json!({ "epoch": 5 }).to_string())).await.unwrap();
        while metrics.restarts() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, stopped).await.expect("the books are not kept");
    estate.forget().await;
    estate.is_forgotten().await;
}

/// QUOTA-24, Q-09: what cannot be removed of an allocation that is no more is removed later.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_removed_is_removed_later() {
    let estate = Estate::open(NEVER).await;
    estate.store.overtakes.store(true, Ordering::SeqCst);
    estate.forget().await;
    let failed = async {
        while estate.allocations.metrics().conflicts() < 50 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(SOON, failed).await.expect("it is tried to remove what is left");
    estate.store.overtakes.store(false, Ordering::SeqCst);
    estate.is_forgotten().await;
}

/// QUOTA-17: a change of metadata, or of how an amount is written, writes nothing down, whoever tells of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_count_is_not_written_down() {
    let estate = Estate::open(NEVER).await;
    let old = estate.cluster.set("a", "4");
    estate.cluster.tell();
    estate.charge_becomes("4").await;
    let account = async || {
        let rows = ledger_rows(&*estate.store).await;
        rows.into_iter().find(|(key, _)| key.as_str().ends_with("accounts/alice/a")).unwrap()
    };
    let before = account().await;
    assert_eq!(estate.ask("a", Some(&old), "4000m").await, Ok(()));
    estate.cluster.set("a", "4000m");
    // When this is counted, the other one has been looked at.
    estate.cluster.set("z", "1");
    estate.cluster.tell();
    estate.charge_becomes("5").await;
    assert_eq!(account().await, before);
}
