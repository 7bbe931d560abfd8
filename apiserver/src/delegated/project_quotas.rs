//! The projects of the cluster and their ResourceQuotas, followed by watches.
//!
//! Who decides what a project may have takes its labels from what was seen only while there is a watch, and else asks the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bailiwick_api::quota::QuotaFacts;
use bailiwick_registry::{Error, NamespaceLabels, Project, ProjectQuotas};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use kube::api::{ListParams, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::Notify;

use super::following::Following;
use super::question::ask;
use crate::health::{HealthCheck, Unhealthy};

/// The cluster's projects and their ResourceQuotas. Cheap to clone.
#[derive(Clone)]
pub struct ClusterQuotas {
    client: Client,
    /// Whether the labels of namespaces are up to date.
    following: Following,
    known: Arc<Mutex<Known>>,
    news: Arc<Notify>,
}

#[derive(Default)]
struct Known {
    /// The namespace that we are in, which is no project.
    home: String,
    labels: BTreeMap<String, NamespaceLabels>,
    quotas: BTreeMap<String, BTreeMap<String, QuotaFacts>>,
    /// Up to which version all ResourceQuotas were seen.
    horizon: u64,
    /// Where something has changed since someone last asked.
    changed: BTreeSet<String>,
    seen_namespaces: bool,
    seen_quotas: bool,
}

// === impl ClusterQuotas ===

impl ClusterQuotas {
    /// Those of this cluster, and what follows them for as long as it is polled, once it is known where our `home` is: that
    /// namespace is no project, and nobody is asked about its ResourceQuotas. They are followed by a client of its own, which may be
    /// more attentive than the one that asks.
    pub fn new(
        client: Client,
        follower: Client,
        home: impl Future<Output = String> + Send,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let quotas = Self { client, following: Following::default(), known: Arc::default(), news: Arc::default() };
        let namespaces = quotas.follow_namespaces(Api::all(follower.clone()));
        let following = quotas.clone();
        (quotas, async move {
            let home = home.await;
            following.known().home = home;
            tokio::join!(namespaces, following.follow_quotas(Api::all(follower)));
        })
    }

    fn follow_namespaces(
        &self,
        namespaces: Api<PartialObjectMeta<Namespace>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (this, mut found) = (self.clone(), BTreeMap::new());
        self.following.follow(namespaces, "namespaces", move |event| {
            let mut known = this.known();
            match event {
                Event::Init => found.clear(),
                Event::InitApply(namespace) | Event::Apply(namespace) if namespace.name_any() == known.home => {}
                Event::InitApply(namespace) => {
                    found.insert(namespace.name_any(), namespace.labels().clone());
                }
                Event::InitDone => {
                    known.set_all_labels(std::mem::take(&mut found));
                    known.seen_namespaces = true;
                }
                Event::Apply(namespace) => {
                    let (name, labels) = (namespace.name_any(), namespace.labels().clone());
                    if known.labels.get(&name) == Some(&labels) {
                        return;
                    }
                    known.labels.insert(name.clone(), labels);
                    known.changed.insert(name);
                }
                Event::Delete(namespace) => {
                    known.labels.remove(&namespace.name_any());
                    known.changed.insert(namespace.name_any());
                }
            }
            drop(known);
            this.news.notify_one();
        })
    }

    async fn follow_quotas(&self, quotas: Api<ResourceQuota>) {
        let mut changes = pin!(watcher(quotas, watcher::Config::default()).default_backoff());
        let (mut found, mut no_older_than): (Vec<(String, QuotaFacts)>, u64) = Default::default();
        while let Some(change) = changes.next().await {
            if let Ok(watcher::Event::Init) = change {
                found.clear();
                no_older_than = self.newest_version().await;
                continue;
            }
            let mut known = self.known();
            match change {
                Ok(watcher::Event::Init) => {}
                Ok(watcher::Event::InitApply(quota)) => found.extend(facts(&quota)),
                Ok(watcher::Event::InitDone) => {
                    let before: Vec<String> = std::mem::take(&mut known.quotas).into_keys().collect();
                    known.changed.extend(before);
                    for (namespace, facts) in found.drain(..) {
                        known.set(namespace, facts);
                    }
                    // What was deleted while nothing was followed has no version here that says so.
                    known.horizon = known.horizon.max(no_older_than);
                    known.seen_quotas = true;
                }
                Ok(watcher::Event::Apply(quota)) => {
                    if let Some((namespace, facts)) = facts(&quota) {
                        known.set(namespace, facts);
                    }
                }
                Ok(watcher::Event::Delete(quota)) => {
                    if let Some((namespace, facts)) = facts(&quota) {
                        known.horizon = known.horizon.max(facts.version);
                        if let Some(quotas) = known.quotas.get_mut(&namespace) {
                            quotas.remove(&facts.name);
                        }
                        known.changed.insert(namespace);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the cluster's quotas cannot be followed at present; the account that asks must be allowed to list and watch resourcequotas");
                }
            }
            drop(known);
            self.news.notify_one();
        }
    }

    /// How far the cluster is: what it lists from now on is no older. Zero if it does not say.
    async fn newest_version(&self) -> u64 {
        let quotas: Api<ResourceQuota> = Api::all(self.client.clone());
        let one = ListParams::default().limit(1);
        let found = ask(|| quotas.list_metadata(&one)).await;
        let version = found.ok().and_then(|found| found.metadata.resource_version);
        version.and_then(|version| version.parse().ok()).unwrap_or_default()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ProjectQuotas for ClusterQuotas {
    fn is_ready(&self) -> bool {
        self.known().is_ready()
    }

    async fn labels(&self, namespace: &str) -> Result<Option<NamespaceLabels>, Error> {
        // In this order: what is lost in between was up to date when it was asked for.
        let is_up_to_date = self.following.is_up_to_date();
        let known = self.known().labels.get(namespace).cloned();
        match known.filter(|_| is_up_to_date) {
            Some(labels) => Ok(Some(labels)),
            None => self.labels_now(namespace).await,
        }
    }

    async fn labels_now(&self, namespace: &str) -> Result<Option<NamespaceLabels>, Error> {
        if self.known().home == namespace {
            return Ok(None);
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let found = ask(|| namespaces.get_metadata_opt(namespace)).await;
        let unknown = |error| {
            tracing::error!(%error, namespace, "the labels of a namespace are not known");
            Error::NamespaceUnknown { name: namespace.to_owned() }
        };
        Ok(found.map_err(unknown)?.map(|found| found.labels().clone()))
    }

    fn namespaces(&self) -> BTreeMap<String, NamespaceLabels> {
        self.known().labels.clone()
    }

    fn project(&self, namespace: &str) -> Project {
        let known = self.known();
        let quotas = known.quotas.get(namespace).into_iter().flat_map(BTreeMap::values).cloned().collect();
        Project { labels: known.labels.get(namespace).cloned(), quotas, horizon: known.horizon, is_ahead: false }
    }

    async fn look(&self, namespace: &str) -> Result<Vec<QuotaFacts>, Error> {
        let quotas: Api<ResourceQuota> = Api::namespaced(self.client.clone(), namespace);
        let all = ListParams::default();
        let found = ask(|| quotas.list(&all)).await;
        let found =
            found.map_err(|error| Error::Failed { what: "a look at a project's quotas", why: error.to_string() })?;
        Ok(found.iter().filter_map(facts).map(|(_, facts)| facts).collect())
    }

    async fn changed(&self) -> BTreeSet<String> {
        loop {
            let news = self.news.notified();
            let changed = std::mem::take(&mut self.known().changed);
            if !changed.is_empty() {
                return changed;
            }
            news.await;
        }
    }
}

/// Whether everything has been seen once.
impl HealthCheck for ClusterQuotas {
    fn check(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        Box::pin(async {
            match self.is_ready() {
                true => Ok(()),
                false => Err(Unhealthy::new("the cluster's quotas are not followed")),
            }
        })
    }
}

// === impl Known ===

impl Known {
    fn is_ready(&self) -> bool {
        self.seen_namespaces && self.seen_quotas
    }

    /// All labels there are. Those that are as they were are no news.
    fn set_all_labels(&mut self, labels: BTreeMap<String, NamespaceLabels>) {
        let before = std::mem::replace(&mut self.labels, labels);
        let gone = before.keys().filter(|name| !self.labels.contains_key(*name));
        let new = self.labels.iter().filter(|(name, labels)| before.get(*name) != Some(*labels)).map(|(name, _)| name);
        self.changed.extend(gone.chain(new).cloned());
    }

    fn set(&mut self, namespace: String, facts: QuotaFacts) {
        self.horizon = self.horizon.max(facts.version);
        self.quotas.entry(namespace.clone()).or_default().insert(facts.name.clone(), facts);
        self.changed.insert(namespace);
    }
}

/// What counts of a ResourceQuota, and where it is.
fn facts(quota: &ResourceQuota) -> Option<(String, QuotaFacts)> {
    let facts = QuotaFacts::from_json(&serde_json::to_value(quota).ok()?);
    Some((quota.namespace()?, facts))
}
