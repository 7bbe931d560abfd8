//! What entries publish: lists that they hold, and resources that are read and followed as their accounts, under the UIDs that
//! were recorded when they were written. Another resource of the same name is not read.

mod known;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_api::{ExposedResource, ResourceCatalogEntry, Satisfier, ServiceAccountRef, without_assigned};
use bailiwick_machinery::field_selector::escape_value;
use futures::stream::select_all;
use futures::{FutureExt, Stream, StreamExt};
use kube::core::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use self::known::{Fields, Known, News};
use super::problem::Problem;
use crate::absence::look_up;
use crate::host::ActAs;
use crate::host_kinds::HostKinds;
use crate::place::Place;

/// How many resources are followed at most. Beyond that they are read when claims are looked at again.
const MAX_FOLLOWED: usize = 2_000;
/// How often it is looked whether there is the kind of a source that is to be followed.
const KIND_PERIOD: Duration = Duration::from_secs(10);

/// A resource that an entry publishes.
pub(super) struct Item {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// The UID of the resource, or of the entry whose list it stands in.
    pub(super) source_uid: String,
    pub(super) content: Result<Fields, Problem>,
}

/// Who reads and follows.
pub(super) struct Sources {
    act_as: Arc<dyn ActAs>,
    kinds: Arc<HostKinds>,
    followed: Mutex<HashMap<Place, Followed>>,
    changes: Arc<Changes>,
}

/// Entries whose sources have changed.
#[derive(Default)]
struct Changes {
    entries: Mutex<BTreeSet<Place>>,
    arrived: Notify,
}

/// The sources of an entry in one generation.
struct Followed {
    uid: Option<String>,
    generation: Option<i64>,
    sources: Arc<Vec<Mutex<Known>>>,
    _following: AbortOnDropHandle<()>,
}

// === impl Sources ===

impl Sources {
    pub(super) fn new(act_as: Arc<dyn ActAs>, kinds: Arc<HostKinds>) -> Self {
        Self { act_as, kinds, followed: Mutex::default(), changes: Arc::default() }
    }

    /// Entries whose sources have changed since the last time. Waits until there are some.
    pub(super) async fn changed(&self) -> BTreeSet<Place> {
        loop {
            self.changes.arrived.notified().await;
            let changed = std::mem::take(&mut *lock(&self.changes.entries));
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    /// What an entry publishes now. `account` is the UID of its service account.
    pub(super) async fn content(&self, entry: &ResourceCatalogEntry, account: Option<&str>) -> Vec<Item> {
        match entry.spec.satisfier() {
            Some(Satisfier::ResourceList(list)) => {
                let uid = entry.metadata.uid.clone().unwrap_or_default();
                list.resources.iter().map(|resource| listed(resource, &uid)).collect()
            }
            Some(Satisfier::LocalResources(_)) => {
                let mut items = Vec::new();
                for (index, exposed) in exposed(entry).iter().enumerate() {
                    let content = match publisher(entry, account) {
                        Ok(account) => self.read(entry, &account, index, exposed).await,
                        Err(problem) => Err(problem),
                    };
                    items.push(Item {
                        api_version: exposed.api_version.clone(),
                        kind: exposed.kind.clone(),
                        name: exposed.name.clone(),
                        source_uid: exposed.uid.clone().unwrap_or_default(),
                        content,
                    });
                }
                items
            }
            Some(Satisfier::Extension(_)) | None => Vec::new(),
        }
    }

    /// Follows the sources of an entry from now on, as long as there is room.
    pub(super) fn follow(&self, entry: &ResourceCatalogEntry, account: Option<&str>) {
        let Ok(account) = publisher(entry, account) else { return };
        let (uid, generation, sources) =
            (entry.metadata.uid.clone(), entry.metadata.generation, exposed(entry).to_vec());
        let mut followed = lock(&self.followed);
        let place = Place::of(entry);
        if sources.is_empty() || followed.get(&place).is_some_and(|followed| followed.is_of(entry)) {
            return;
        }
        followed.remove(&place);
        if followed.values().map(|followed| followed.sources.len()).sum::<usize>() + sources.len() > MAX_FOLLOWED {
            return;
        }
        let known: Arc<Vec<Mutex<Known>>> = Arc::new(sources.iter().map(|_| Mutex::default()).collect());
        let following = follow(Following {
            client: self.act_as.client(&account),
            kinds: self.kinds.clone(),
            place: place.clone(),
            sources,
            known: known.clone(),
            changes: self.changes.clone(),
        });
        let following = AbortOnDropHandle::new(tokio::spawn(following));
        followed.insert(place, Followed { uid, generation, sources: known, _following: following });
    }

    /// An entry is gone, or nobody follows it any more.
    pub(super) fn forget(&self, entry: &Place) {
        lock(&self.followed).remove(entry);
    }

    async fn read(
        &self,
        entry: &ResourceCatalogEntry,
        account: &ServiceAccountRef,
        index: usize,
        exposed: &ExposedResource,
    ) -> Result<Fields, Problem> {
        let place = Place::of(entry);
        let followed = {
            let followed = lock(&self.followed);
            let of_this = followed.get(&place).filter(|followed| followed.is_of(entry));
            of_this.map(|followed| followed.sources.clone())
        };
        let known = followed.as_ref().and_then(|sources| sources.get(index));
        let now = Instant::now();
        if let Some(current) = known.and_then(|known| lock(known).current(now)) {
            return checked(current, exposed);
        }
        let reading = known.map(|known| (known, lock(known).begin_reading(now)));
        let found = self.read_elsewhere(account, exposed).await?;
        if let Some((known, reading)) = reading {
            self.changes.tell(&place, lock(known).was_read(reading, &found));
        }
        checked(found, exposed)
    }

    /// Asks the host.
    async fn read_elsewhere(&self, account: &ServiceAccountRef, exposed: &ExposedResource) -> Result<Fields, Problem> {
        let kind = self.kinds.find(&exposed.api_version, &exposed.kind).await;
        let kind = kind
            .map_err(|error| Problem::of(&error, account))?
            .ok_or_else(|| Problem::not_served(&exposed.kind, &exposed.api_version))?;
        let sources: Api<DynamicObject> =
            Api::namespaced_with(self.act_as.client(account), account.namespace(), &kind.resource);
        match look_up(&sources, &exposed.name).await {
            Ok(Some(object)) => Ok(Arc::new(fields(&object, exposed))),
            Ok(None) => Err(Problem::new(
                "SourceGone",
                format!("the {} \"{}\" is gone where it was published", exposed.kind, exposed.name),
            )),
            Err(error) => {
                let problem = Problem::of(&error, account);
                if problem.is_kind_unknown() {
                    // What is remembered of the kind may not be so any more.
                    self.kinds.forget(&exposed.api_version, &exposed.kind);
                }
                let reason = if problem.reason == "Forbidden" { "SourceForbidden".to_owned() } else { problem.reason };
                Err(Problem { reason, ..problem })
            }
        }
    }
}

// === impl Followed ===

impl Followed {
    fn is_of(&self, entry: &ResourceCatalogEntry) -> bool {
        (&self.uid, self.generation) == (&entry.metadata.uid, entry.metadata.generation)
    }
}

// === impl Changes ===

impl Changes {
    fn tell(&self, entry: &Place, news: News) {
        if news == News::Yes {
            lock(&self.entries).insert(entry.clone());
            self.arrived.notify_one();
        }
    }
}

struct Following {
    client: Client,
    kinds: Arc<HostKinds>,
    place: Place,
    sources: Vec<ExposedResource>,
    known: Arc<Vec<Mutex<Known>>>,
    changes: Arc<Changes>,
}

/// Follows sources for as long as it is polled.
async fn follow(following: Following) {
    let Following { client, kinds, place, sources, known, changes } = following;
    let each = sources.iter().zip(known.iter()).map(|(source, known)| {
        let api = api_of(client.clone(), &kinds, &place, source);
        api.map(|api| news_of(api, source, known)).flatten_stream().boxed()
    });
    let mut news = select_all(each);
    while let Some(news) = news.next().await {
        changes.tell(&place, news);
    }
}

/// Where a source is, once there is its kind.
async fn api_of(client: Client, kinds: &HostKinds, place: &Place, source: &ExposedResource) -> Api<DynamicObject> {
    loop {
        match kinds.find(&source.api_version, &source.kind).await {
            Ok(Some(kind)) => return Api::namespaced_with(client, &place.namespace, &kind.resource),
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, kind = source.kind, "what is published cannot be found at present"),
        }
        sleep(KIND_PERIOD).await;
    }
}

/// What happens to a source.
fn news_of<'k>(
    api: Api<DynamicObject>,
    source: &'k ExposedResource,
    known: &'k Mutex<Known>,
) -> impl Stream<Item = News> + Send + use<'k> {
    let config = watcher::Config::default().fields(&format!("metadata.name={}", escape_value(&source.name)));
    // Whether it was found since its watch began anew.
    let mut is_found = false;
    watcher(api, config).default_backoff().map(move |event| match event {
        Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
            is_found = true;
            lock(known).appeared(Arc::new(fields(&object, source)))
        }
        Ok(watcher::Event::Init) => {
            is_found = false;
            News::No
        }
        // It may have gone while nobody looked.
        Ok(watcher::Event::InitDone) if is_found => News::No,
        Ok(watcher::Event::InitDone | watcher::Event::Delete(_)) => lock(known).went(),
        Err(error) => {
            tracing::debug!(%error, kind = source.kind, "what is published cannot be followed at present");
            // Whoever reads it is told why it cannot be.
            lock(known).is_out_of_sight()
        }
    })
}

/// The account as which an entry's sources are read, if it is the one that was named.
fn publisher(entry: &ResourceCatalogEntry, uid: Option<&str>) -> Result<ServiceAccountRef, Problem> {
    let name = entry.spec.service_account_name.as_deref().unwrap_or_default();
    let account = ServiceAccountRef::new(entry.metadata.namespace.as_deref().unwrap_or_default(), name)
        .map_err(|error| Problem::new("SourceForbidden", error.to_string()))?;
    let pinned = entry.status.as_ref().and_then(|status| status.service_account.as_ref());
    match (pinned, uid) {
        (Some(pinned), Some(uid)) if pinned.uid == uid && pinned.name == name => Ok(account),
        _ => Err(Problem::new(
            "SourceForbidden",
            "the service account as which this is published is gone, or another one: its publisher has to write the entry again",
        )),
    }
}

/// What an entry publishes, by version, kind and name.
pub(super) fn names(entry: &ResourceCatalogEntry) -> Vec<(String, String, String)> {
    match entry.spec.satisfier() {
        Some(Satisfier::ResourceList(list)) => {
            let listed = list.resources.iter().map(|resource| listed(resource, ""));
            listed.map(|item| (item.api_version, item.kind, item.name)).collect()
        }
        Some(Satisfier::LocalResources(_)) => {
            let exposed = exposed(entry).iter().cloned();
            exposed.map(|exposed| (exposed.api_version, exposed.kind, exposed.name)).collect()
        }
        Some(Satisfier::Extension(_)) | None => Vec::new(),
    }
}

fn exposed(entry: &ResourceCatalogEntry) -> &[ExposedResource] {
    let local = entry.status.as_ref().and_then(|status| status.local_resources.as_ref());
    local.map(|local| local.exposed_resources.as_slice()).unwrap_or_default()
}

fn listed(resource: &Map<String, Value>, uid: &str) -> Item {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    Item {
        api_version: text(resource.get("apiVersion")),
        kind: text(resource.get("kind")),
        name: text(resource.get("metadata").and_then(|metadata| metadata.get("name"))),
        source_uid: uid.to_owned(),
        content: Ok(Arc::new(resource.clone())),
    }
}

/// Only what was published when the entry was written.
fn checked(content: Fields, exposed: &ExposedResource) -> Result<Fields, Problem> {
    let uid = content.get("metadata").and_then(|metadata| metadata.get("uid")).and_then(Value::as_str);
    if uid.is_some() && uid == exposed.uid.as_deref() {
        return Ok(content);
    }
    let message = format!(
        "uid mismatch: the {} \"{}\" has been made anew since it was published; its publisher has to write the entry again",
        exposed.kind, exposed.name
    );
    Err(Problem::new("SourceReplaced", message))
}

/// An object as it is written, without what it alone can have. Those that come in a list need not say what they are.
fn fields(object: &DynamicObject, exposed: &ExposedResource) -> Map<String, Value> {
    // What was read as an object is one.
    let mut fields = match serde_json::to_value(object) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert("apiVersion".to_owned(), exposed.api_version.as_str().into());
    fields.insert("kind".to_owned(), exposed.kind.as_str().into());
    without_assigned(&mut fields);
    fields
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
