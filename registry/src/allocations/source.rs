//! Where projects and their ResourceQuotas are known from: our own store, or another server.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use bailiwick_api::PROVISIONER_NAMESPACE;
use bailiwick_api::quota::{Amounts, QuotaFacts};
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::Revision;
use bailiwick_storage::cache::{Object as CachedObject, Snapshot};

use super::ledger::bad_key;
use crate::error::Result;
use crate::kinds::QuotaCounts;
use crate::read::encoded;
use crate::registry::Registry;
use crate::served_kind::ServedKind;

/// The labels of a namespace.
pub type Labels = BTreeMap<String, String>;

/// Who knows the projects and their ResourceQuotas, where another server keeps them.
#[async_trait]
pub trait ProjectQuotas: Send + Sync + 'static {
    /// Whether all there is has been seen once. Before, nothing is decided.
    fn is_ready(&self) -> bool;

    /// The labels of a namespace; `None` if there is no such project. The server is asked about one that is not known.
    async fn labels(&self, namespace: &str) -> Result<Option<Labels>>;

    /// The same, but the server is always asked.
    async fn labels_now(&self, namespace: &str) -> Result<Option<Labels>>;

    /// The namespaces that are known, and their labels.
    fn namespaces(&self) -> BTreeMap<String, Labels>;

    /// What is known of a namespace.
    fn project(&self, namespace: &str) -> Project;

    /// Asks the server for the ResourceQuotas of a namespace.
    async fn look(&self, namespace: &str) -> Result<Vec<QuotaFacts>>;

    /// The namespaces in which something has changed since this was last asked. Waits until there is one.
    async fn changed(&self) -> BTreeSet<String>;
}

/// A namespace and its ResourceQuotas.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Its labels; `None` if there is no such namespace, or if it is no project: our own is none.
    pub labels: Option<Labels>,
    /// Its ResourceQuotas.
    pub quotas: Vec<QuotaFacts>,
    /// Up to which resource version that is known.
    pub horizon: u64,
    /// Whether there is something else of what they count than their status tells: it will, or it may not have to.
    pub is_ahead: bool,
}

/// A project as another server told it.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) project: Project,
    /// Up to which state of our store its labels are known to count: whoever wrote something down since may have known others.
    /// Nothing is, where the server was not asked for them.
    pub(super) labels_at: Revision,
}

/// The projects of our own store.
pub(super) struct OwnProjects {
    namespaces: std::sync::Arc<ServedKind>,
    quotas: std::sync::Arc<ServedKind>,
}

// === impl OwnProjects ===

impl OwnProjects {
    /// None where namespaces and ResourceQuotas are none of our kinds.
    pub(super) fn find(registry: &Registry) -> Option<Self> {
        let core = GroupVersion::new("", "v1");
        Some(Self { namespaces: registry.find(&core, "namespaces")?, quotas: registry.find(&core, "resourcequotas")? })
    }

    pub(super) fn namespaces(&self) -> &ServedKind {
        &self.namespaces
    }

    pub(super) fn quotas(&self) -> &ServedKind {
        &self.quotas
    }

    /// A project in a state. What is used of its ResourceQuotas is counted, as their status tells it a moment later: who
    /// shrinks one must not free what was made in that moment.
    pub(super) fn project(&self, counts: &QuotaCounts<'_>, namespace: &str) -> Result<Project> {
        let state = counts.state();
        let key = self.namespaces.key("", namespace).map_err(bad_key)?;
        let Some(found) = state.get(&key).filter(|_| namespace != PROVISIONER_NAMESPACE) else {
            return Ok(Project { horizon: u64::MAX, ..Project::default() });
        };
        let labels = labels(&read(&self.namespaces, found)?);
        let range = self.quotas.range(Some(namespace)).map_err(bad_key)?;
        let mut project = Project { labels: Some(labels), horizon: u64::MAX, ..Project::default() };
        for quota in state.range(&range, None) {
            let quota = read(&self.quotas, quota)?;
            let facts = QuotaFacts::from_json(quota.as_value());
            let used = Amounts::from_json(counts.status(&quota).get("used"));
            project.is_ahead |= used != facts.used;
            project.quotas.push(QuotaFacts { used, ..facts });
        }
        Ok(project)
    }

    /// The names of all namespaces in a state.
    pub(super) fn all(&self, state: &Snapshot) -> Vec<String> {
        let all = state.range(self.namespaces.kind().keys().all(), None);
        all.map(|namespace| namespace.key().name().to_owned()).collect()
    }

    /// The same, with their labels.
    pub(super) fn labelled(&self, state: &Snapshot) -> Result<BTreeMap<String, Labels>> {
        let all = state.range(self.namespaces.kind().keys().all(), None);
        let found = all.map(|found| Ok((found.key().name().to_owned(), labels(&read(&self.namespaces, found)?))));
        found.collect()
    }
}

fn read(kind: &ServedKind, object: &std::sync::Arc<CachedObject>) -> Result<Object> {
    let name = object.key().name();
    kind.read(&encoded(kind, object)?).map_err(|error| error.about(&kind.resource(), name))
}

fn labels(namespace: &Object) -> Labels {
    let labels = namespace.as_value().pointer("/metadata/labels").and_then(serde_json::Value::as_object);
    let text = |(key, value): (&String, &serde_json::Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}
