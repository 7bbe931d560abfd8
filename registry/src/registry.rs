//! All kinds, and the store that holds their objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use bailiwick_machinery::{GroupKind, GroupResource, GroupVersion};
use bailiwick_storage::cache::{Cache, CacheOptions};
use bailiwick_storage::{self as storage, At, Metrics, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::allocations::{AllocationRules, Allocations};
use crate::definitions;
use crate::error::Result;
use crate::extract::Extract;
use crate::kind::Kind;
use crate::organizations::Projects;
use crate::served_kind::ServedKind;
use crate::served_kinds::ServedKinds;
use crate::turns::Turns;
use crate::virtual_kind::Followers;

/// How long a writer waits for those who follow what it writes.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Kinds and their objects.
pub struct Registry {
    kinds: ArcSwap<ServedKinds>,
    extract: Arc<Extract>,
    admissions: Vec<Box<dyn Admission>>,
    /// Who knows whose projects are, if the namespaces are not among the kinds.
    projects: Option<Box<dyn Projects>>,
    /// Who holds ResourceQuotas to the quota allocations, if anyone does.
    allocations: Option<Arc<Allocations>>,
    /// Of some kinds, how far someone has come who follows them.
    followers: Mutex<Vec<(GroupKind, watch::Receiver<u64>)>>,
    /// When those end who keep something up to date with what is stored.
    end: CancellationToken,
    /// Who writes next what many write at once.
    turns: Turns,
    /// Who follows what objects are made of that are not stored.
    made_followers: Followers,
    cache: Cache,
}

// === impl Registry ===

impl Registry {
    /// Fills the cache from the store; ready to serve when it returns.
    pub async fn start(store: Arc<dyn Store>, kinds: Vec<Kind>, metrics: Metrics) -> storage::Result<Self> {
        let defined = definitions::load(&*store, &kinds).await?;
        let kinds: Vec<Arc<Kind>> = kinds.into_iter().chain(defined).map(Arc::new).collect();
        let extract = Arc::new(Extract::new(&kinds));
        let options = CacheOptions { metrics, ..CacheOptions::new(extract.clone()) };
        let cache = Cache::start(store, options).await?;
        let kinds = ArcSwap::from_pointee(ServedKinds::default().changed(&[], &kinds));
        let admissions: Vec<Box<dyn Admission>> = vec![
            Box::new(definitions::NoShadowing),
            Box::new(definitions::RoomForStatus),
            Box::new(definitions::DefinitionLifecycle),
        ];
        Ok(Self {
            kinds,
            extract,
            admissions,
            projects: None,
            allocations: None,
            followers: Mutex::default(),
            end: CancellationToken::new(),
            turns: Turns::default(),
            made_followers: Followers::default(),
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

    /// The same, where these hold ResourceQuotas to the quota allocations there are. Whatever else can refuse a write is to
    /// be added before.
    pub fn with_allocations(mut self, allocations: &Arc<Allocations>) -> Result<Self> {
        self.allocations = Some(allocations.clone());
        Ok(self.with_admission(AllocationRules::new(allocations.clone())?))
    }

    /// The same, until then: those who keep something up to date with what is stored hold it, and end with `end`.
    #[must_use]
    pub fn until(mut self, end: CancellationToken) -> Self {
        self.end = end;
        self
    }

    /// Runs something beside requests that holds what is stored, until nobody needs it any more.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(self.end.clone().run_until_cancelled_owned(task));
    }

    /// Who holds ResourceQuotas to the quota allocations, if anyone does.
    pub fn allocations(&self) -> Option<&Allocations> {
        self.allocations.as_deref()
    }

    pub(crate) fn projects(&self) -> Option<&dyn Projects> {
        self.projects.as_deref()
    }

    pub(crate) fn made_followers(&self) -> &Followers {
        &self.made_followers
    }

    /// All kinds there are now.
    pub fn kinds(&self) -> Arc<ServedKinds> {
        self.kinds.load_full()
    }

    /// The kind that a path names now.
    pub fn find(&self, group_version: &GroupVersion, plural: &str) -> Option<Arc<ServedKind>> {
        self.kinds.load().find(group_version, plural).cloned()
    }

    /// The kind that a definition of this name defines, if it is served.
    pub(crate) fn defined_by(&self, name: &str) -> Option<Arc<Kind>> {
        let is_it = |kind: &&Arc<Kind>| kind.definition().is_some_and(|definition| definition.name == name);
        self.kinds.load().kinds().iter().find(is_it).cloned()
    }

    /// The kinds that definitions define and that are served, by the names of the definitions.
    pub(crate) fn defined(&self) -> BTreeMap<String, Arc<Kind>> {
        let named = |kind: &Arc<Kind>| Some((kind.definition()?.name.clone(), kind.clone()));
        self.kinds.load().kinds().iter().filter_map(named).collect()
    }

    /// Whether a group is one of the program's own.
    pub(crate) fn serves_natively(&self, group: &str) -> bool {
        let kinds = self.kinds.load();
        kinds.served().iter().any(|served| served.gvk().group == group && !served.kind().is_defined())
    }

    /// Serves other kinds from now on: all at once, with all objects that there are of them. Watches of those that are gone,
    /// or that others take the place of, end. Only one may do this at a time.
    pub(crate) async fn change_kinds(&self, gone: &[Arc<Kind>], come: &[Arc<Kind>]) -> storage::Result<()> {
        self.extract.follow(gone, come);
        let snapshot = self.cache.snapshot(At::Any).await?;
        for kind in come {
            // Where there was such a kind, objects may just have come that are as it had them.
            let takes_a_place = gone.iter().any(|gone| gone.keys().all() == kind.keys().all());
            if takes_a_place || snapshot.count(kind.keys().all(), None) > 0 {
                self.cache.remake(kind.keys().all()).await?;
            }
        }
        self.kinds.store(Arc::new(self.kinds.load().changed(gone, come)));
        for definition in gone.iter().filter_map(|kind| kind.definition()) {
            definition.retired.cancel();
        }
        Ok(())
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
        Ok(self.kinds.load().kinds().iter().filter(|kind| kind.maker().is_none()).filter_map(count).collect())
    }

    /// Asks the store whether it answers: what readiness depends on.
    pub async fn check_store(&self) -> storage::Result<()> {
        self.cache.revision().await.map(|_| ())
    }
}
