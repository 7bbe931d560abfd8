//! What entries publish: lists that they hold, and resources that are read and followed as their accounts, under the UIDs that
//! were recorded when they were written. Another resource of the same name is not read.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_api::{ExposedResource, ResourceCatalogEntry, Satisfier, ServiceAccountRef};
use futures::StreamExt;
use futures::stream::select_all;
use kube::core::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::problem::Problem;
use crate::host::ActAs;
use crate::host_kinds::HostKinds;
use crate::place::Place;

/// How many resources are followed at most. Beyond that they are read when claims are looked at again.
const MAX_FOLLOWED: usize = 2_000;

/// A resource that an entry publishes.
pub(super) struct Item {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// The UID of the resource, or of the entry whose list it stands in.
    pub(super) source_uid: String,
    pub(super) content: Result<Arc<Map<String, Value>>, Problem>,
}

/// Who reads and follows.
pub(super) struct Sources {
    act_as: Arc<dyn ActAs>,
    kinds: Arc<HostKinds>,
    followed: Mutex<HashMap<Place, Followed>>,
    news: Arc<News>,
}

/// Entries whose sources have changed.
#[derive(Default)]
pub(super) struct News {
    changed: Mutex<BTreeSet<Place>>,
    arrived: Notify,
}

/// The sources of an entry in one generation.
struct Followed {
    uid: Option<String>,
    generation: Option<i64>,
    content: Arc<Mutex<Content>>,
    count: usize,
    _following: AbortOnDropHandle<()>,
}

/// What is known of an entry's sources, by their places in its status.
#[derive(Default)]
struct Content {
    /// As they are. Only whoever follows them knows: what was read elsewhere may be older.
    current: HashMap<usize, Arc<Map<String, Value>>>,
    /// The states that copies were made of last.
    read: HashMap<usize, Value>,
}

// === impl Sources ===

impl Sources {
    pub(super) fn new(act_as: Arc<dyn ActAs>, host: Client) -> Self {
        let kinds = Arc::new(HostKinds::new(host));
        Self { act_as, kinds, followed: Mutex::default(), news: Arc::default() }
    }

    /// Entries whose sources have changed since the last time. Waits until there are some.
    pub(super) async fn changed(&self) -> BTreeSet<Place> {
        loop {
            self.news.arrived.notified().await;
            let changed = std::mem::take(&mut *lock(&self.news.changed));
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
        let is_same = |old: &Followed| (&old.uid, old.generation) == (&uid, generation);
        if sources.is_empty() || followed.get(&place).is_some_and(is_same) {
            return;
        }
        followed.remove(&place);
        if followed.values().map(|followed| followed.count).sum::<usize>() + sources.len() > MAX_FOLLOWED {
            return;
        }
        let content = Arc::default();
        let count = sources.len();
        let following = follow(Following {
            client: self.act_as.client(&account),
            kinds: self.kinds.clone(),
            place: place.clone(),
            sources,
            content: Arc::clone(&content),
            news: self.news.clone(),
        });
        let following = AbortOnDropHandle::new(tokio::spawn(following));
        followed.insert(place, Followed { uid, generation, content, count, _following: following });
    }

    /// An entry is gone.
    pub(super) fn forget(&self, entry: &Place) {
        lock(&self.followed).remove(entry);
    }

    async fn read(
        &self,
        entry: &ResourceCatalogEntry,
        account: &ServiceAccountRef,
        index: usize,
        exposed: &ExposedResource,
    ) -> Result<Arc<Map<String, Value>>, Problem> {
        let cached = {
            let followed = lock(&self.followed);
            let of_this =
                followed.get(&Place::of(entry)).filter(|followed| followed.generation == entry.metadata.generation);
            of_this.map(|followed| followed.content.clone())
        };
        let read = |content: &Arc<Map<String, Value>>| {
            if let (Some(known), Some(version)) = (&cached, version(content)) {
                lock(known).read.insert(index, version.clone());
            }
        };
        if let Some(content) = cached.as_ref().and_then(|known| lock(known).current.get(&index).cloned()) {
            read(&content);
            return checked(content, exposed);
        }
        let unknown =
            || Problem::new("KindUnknown", format!("there is no kind {} of {}", exposed.kind, exposed.api_version));
        let kind = self.kinds.find(&exposed.api_version, &exposed.kind).await;
        let kind = kind.map_err(|error| Problem::of(&error, account))?.ok_or_else(unknown)?;
        let sources: Api<DynamicObject> =
            Api::namespaced_with(self.act_as.client(account), account.namespace(), &kind.resource);
        match sources.get_opt(&exposed.name).await {
            Ok(Some(object)) => {
                let content = Arc::new(fields(&object, exposed));
                read(&content);
                checked(content, exposed)
            }
            Ok(None) => Err(Problem::new(
                "SourceGone",
                format!("the {} \"{}\" is gone where it was published", exposed.kind, exposed.name),
            )),
            Err(error) => {
                let problem = Problem::of(&error, account);
                let reason = if problem.reason == "Forbidden" { "SourceForbidden".to_owned() } else { problem.reason };
                Err(Problem { reason, ..problem })
            }
        }
    }
}

struct Following {
    client: Client,
    kinds: Arc<HostKinds>,
    place: Place,
    sources: Vec<ExposedResource>,
    content: Arc<Mutex<Content>>,
    news: Arc<News>,
}

/// Follows sources for as long as it is polled.
async fn follow(following: Following) {
    let Following { client, kinds, place, sources, content, news } = following;
    let mut streams = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let Ok(Some(kind)) = kinds.find(&source.api_version, &source.kind).await else { continue };
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &place.namespace, &kind.resource);
        let config = watcher::Config::default().fields(&format!("metadata.name={}", source.name));
        streams.push(watcher(api, config).default_backoff().map(move |event| (index, event)).boxed());
    }
    let mut events = select_all(streams);
    // Those that have not been found again since their watch began anew.
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    while let Some((index, event)) = events.next().await {
        let is_news = match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                gone.remove(&index);
                let (new, mut content) = (Arc::new(fields(&object, &sources[index])), lock(&content));
                let is_known = content.read.get(&index) == version(&new);
                content.current.insert(index, new);
                !is_known
            }
            Ok(watcher::Event::Delete(_)) => {
                lock(&content).current.remove(&index);
                true
            }
            Ok(watcher::Event::Init) => {
                gone.insert(index);
                false
            }
            // It went while nobody looked.
            Ok(watcher::Event::InitDone) => gone.remove(&index) && lock(&content).current.remove(&index).is_some(),
            Err(error) => {
                tracing::debug!(%error, entry = %place, "what is published cannot be followed at present");
                // It is read by whoever needs it, and they are told why it cannot be.
                lock(&content).current.remove(&index).is_some()
            }
        };
        if is_news {
            lock(&news.changed).insert(place.clone());
            news.arrived.notify_one();
        }
    }
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
fn checked(content: Arc<Map<String, Value>>, exposed: &ExposedResource) -> Result<Arc<Map<String, Value>>, Problem> {
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

/// An object as it is written. Those that come in a list need not say what they are.
fn fields(object: &DynamicObject, exposed: &ExposedResource) -> Map<String, Value> {
    // What was read as an object is one.
    let mut fields = match serde_json::to_value(object) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert("apiVersion".to_owned(), exposed.api_version.as_str().into());
    fields.insert("kind".to_owned(), exposed.kind.as_str().into());
    fields
}

fn version(object: &Map<String, Value>) -> Option<&Value> {
    object.get("metadata").and_then(|metadata| metadata.get("resourceVersion"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
