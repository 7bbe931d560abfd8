//! All kinds, and the store that holds their objects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bailiwick_machinery::{GroupKind, GroupResource, GroupVersion};
use bailiwick_storage::cache::{Cache, CacheOptions};
use bailiwick_storage::{self as storage, At, Metrics, Store};
use tokio::sync::watch;

use crate::admission::Admission;
use crate::extract::Extract;
use crate::kind::{Kind, ServedKind};
use crate::organizations::Projects;
use crate::turns::Turns;

/// How long a writer waits for those who follow what it writes.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Kinds and their objects.
pub struct Registry {
    kinds: Vec<Arc<Kind>>,
    served: Vec<ServedKind>,
    by_path: HashMap<String, usize>,
    admissions: Vec<Box<dyn Admission>>,
    /// Who knows whose projects are, if the namespaces are not among the kinds.
    projects: Option<Box<dyn Projects>>,
    /// Of some kinds, how far someone has come who follows them.
    followers: Mutex<Vec<(GroupKind, watch::Receiver<u64>)>>,
    /// Who writes next what many write at once.
    turns: Turns,
    cache: Cache,
}

// === impl Registry ===

impl Registry {
    /// Fills the cache from the store; ready to serve when it returns.
    pub async fn start(store: Arc<dyn Store>, kinds: Vec<Kind>, metrics: Metrics) -> storage::Result<Self> {
        let kinds: Vec<Arc<Kind>> = kinds.into_iter().map(Arc::new).collect();
        let served: Vec<ServedKind> = kinds.iter().flat_map(ServedKind::all).collect();
        let path = |kind: &ServedKind| path(&kind.version().group_version, &kind.kind().names().plural);
        let by_path = served.iter().enumerate().map(|(at, kind)| (path(kind), at)).collect();
        let options = CacheOptions { metrics, ..CacheOptions::new(Arc::new(Extract::new(&kinds))) };
        let cache = Cache::start(store, options).await?;
        Ok(Self {
            kinds,
            served,
            by_path,
            admissions: Vec::new(),
            projects: None,
            followers: Mutex::default(),
            turns: Turns::default(),
            cache,
        })
    }

    /// The same, with one more rule over objects. They are asked in the order in which they were added.
    #[must_use]
    pub fn with_admission(mut self, admission: impl Admission) -> Self {
        self.admissions.push(Box::new(admission));
        self
    }

    /// The same, where another server keeps the namespaces.
    #[must_use]
    pub fn with_projects(mut self, projects: impl Projects) -> Self {
        self.projects = Some(Box::new(projects));
        self
    }

    pub(crate) fn projects(&self) -> Option<&dyn Projects> {
        self.projects.as_deref()
    }

    /// All kinds.
    pub fn kinds(&self) -> &[Arc<Kind>] {
        &self.kinds
    }

    /// All kinds in all their versions.
    pub fn served(&self) -> &[ServedKind] {
        &self.served
    }

    /// The kind that a path names.
    pub fn find(&self, group_version: &GroupVersion, plural: &str) -> Option<&ServedKind> {
        self.served.get(*self.by_path.get(&path(group_version, plural))?)
    }

    /// From now on whoever writes objects of a kind waits until a follower has come as far, so that what follows from a
    /// write is so for the writer's next request.
    pub(crate) fn writers_wait_for(&self, kind: GroupKind, through_rx: watch::Receiver<u64>) {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push((kind, through_rx));
    }

    /// Waits for those who follow a kind, but not for ever.
    pub(crate) async fn settle(&self, kind: &ServedKind, revision: u64) {
        let group_kind = kind.group_kind();
        let followers: Vec<_> = {
            let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
            followers.iter().filter(|(kind, _)| *kind == group_kind).map(|(_, through_rx)| through_rx.clone()).collect()
        };
        for mut through_rx in followers {
            let reached = through_rx.wait_for(|through| *through >= revision);
            if tokio::time::timeout(MAX_WAIT, reached).await.is_err() {
                tracing::warn!(kind = %group_kind, revision, "what follows from a write takes long");
            }
        }
    }

    pub(crate) fn admissions(&self) -> &[Box<dyn Admission>] {
        &self.admissions
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How many objects there are of each kind, for those who watch over the server.
    pub async fn object_counts(&self) -> storage::Result<Vec<(GroupResource, usize)>> {
        let snapshot = self.cache.snapshot(At::Any).await?;
        let count = |kind: &Arc<Kind>| {
            let group = kind.versions().first()?.group_version.group.clone();
            let resource = GroupResource::new(group, kind.names().plural.clone());
            Some((resource, snapshot.count(kind.keys().all(), None)))
        };
        Ok(self.kinds.iter().filter(|kind| kind.maker().is_none()).filter_map(count).collect())
    }

    /// Asks the store whether it answers: what readiness depends on.
    pub async fn check_store(&self) -> storage::Result<()> {
        self.cache.revision().await.map(|_| ())
    }
}

fn path(group_version: &GroupVersion, plural: &str) -> String {
    format!("{}/{}/{plural}", group_version.group, group_version.version)
}
