//! Removes what nobody owns any more, and lets go of what waits for that.
//!
//! An object that names owners stays as long as one of them is there. An owner that was deleted in the foreground waits
//! until those it owns are gone; one that was deleted with the wish to orphan them is first taken away from them. Nothing is
//! removed on the ground of what was seen alone: the object is read again, and the deletion names its UID and version.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::queue::Queue;
use crate::served_kinds::{GroupKind, Served, ServedKinds, discover};

mod collect;
mod graph;

use collect::Collector;
use graph::{Graph, Node, Task, Uid};

/// How often it is asked which kinds there are.
const DISCOVER_EVERY: Duration = Duration::from_secs(5);
/// How long the first look at a kind is waited for. A kind that cannot be read must not stop the others for ever.
const FIRST_LOOK: Duration = Duration::from_secs(30);
/// How much is done at once.
const WORKERS: usize = 20;
/// They come in numbers, own nothing and end by themselves.
const NOT_COLLECTED: [(&str, &str); 2] = [("", "Event"), ("events.k8s.io", "Event")];

/// Removes what nobody owns any more.
pub struct GarbageCollector {
    client: Client,
}

/// What the parts of a garbage collector share.
struct Shared {
    client: Client,
    kinds: watch::Sender<ServedKinds>,
    graph: Mutex<Graph>,
    queue: Queue<Task>,
}

/// Who follows the objects of a kind.
struct Follower {
    served: Served,
    task: tokio::task::AbortHandle,
    /// Whether it has seen all objects once.
    complete: watch::Receiver<bool>,
}

// === impl GarbageCollector ===

impl GarbageCollector {
    /// One that acts as this client's user, who must be allowed to read, change and delete everything.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let shared = Arc::new(Shared {
            client: self.client,
            kinds: watch::Sender::default(),
            graph: Mutex::default(),
            queue: Queue::new("garbage-collector-controller"),
        });
        // Ends with this future.
        let mut tasks = JoinSet::new();
        let mut followers = BTreeMap::new();
        let mut working = false;
        let mut pace = interval(DISCOVER_EVERY);
        loop {
            pace.tick().await;
            match discover(&shared.client).await {
                Ok(kinds) => follow(&shared, &kinds, &mut followers, &mut tasks),
                Err(error) => tracing::warn!(%error, "the garbage collector cannot find out which kinds there are"),
            }
            if !working && !followers.is_empty() {
                working = true;
                wait_for_first_look(&followers).await;
                tasks.spawn(work(shared.clone()));
            }
        }
    }
}

/// Follows new kinds, and no longer those that are gone.
fn follow(
    shared: &Arc<Shared>,
    kinds: &ServedKinds,
    followers: &mut BTreeMap<GroupKind, Follower>,
    tasks: &mut JoinSet<()>,
) {
    shared.kinds.send_if_modified(|known| {
        let changed = known != kinds;
        if changed {
            known.clone_from(kinds);
        }
        changed
    });
    let is_event = |kind: &GroupKind| NOT_COLLECTED.contains(&(&*kind.group, &*kind.kind));
    let wanted = |kind: &GroupKind, served: &Served| served.can_be_collected() && !is_event(kind);
    followers.retain(|kind, follower| {
        let stays = kinds.get(kind).is_some_and(|served| *served == follower.served);
        if !stays {
            follower.task.abort();
            let gone = shared.graph().of_kind(kind);
            gone.iter().for_each(|uid| shared.forget(uid));
        }
        stays
    });
    for (kind, served) in kinds.iter().filter(|(kind, served)| wanted(kind, served)) {
        followers.entry(kind.clone()).or_insert_with(|| {
            let (complete, seen) = watch::channel(false);
            let task = tasks.spawn(follow_kind(shared.clone(), kind.clone(), served.clone(), complete));
            Follower { served: served.clone(), task, complete: seen }
        });
    }
}

/// Takes in what happens to the objects of a kind.
async fn follow_kind(shared: Arc<Shared>, kind: GroupKind, served: Served, complete: watch::Sender<bool>) {
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(shared.client.clone(), &served.resource);
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut listed: HashSet<Uid> = HashSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                listed.extend(object.uid().map(Uid::from));
                shared.observe(&kind, &object);
            }
            Ok(watcher::Event::InitDone) => {
                let known = shared.graph().of_kind(&kind);
                known.difference(&listed).for_each(|uid| shared.forget(uid));
                complete.send_replace(true);
            }
            Ok(watcher::Event::Apply(object)) => shared.observe(&kind, &object),
            Ok(watcher::Event::Delete(object)) => object.uid().iter().for_each(|uid| shared.forget(uid)),
            Err(error) => tracing::debug!(kind = kind.kind, %error, "the garbage collector looks at a kind again"),
        }
    }
}

/// Owners are only missed by those who have looked everywhere.
async fn wait_for_first_look(followers: &BTreeMap<GroupKind, Follower>) {
    let all = async {
        for follower in followers.values() {
            // A follower that has ended has nothing to say.
            let _ = follower.complete.clone().wait_for(|complete| *complete).await;
        }
    };
    if timeout(FIRST_LOOK, all).await.is_err() {
        tracing::warn!("the garbage collector begins though it has not seen all objects");
    }
}

async fn work(shared: Arc<Shared>) {
    let look_at = async |shared: Arc<Shared>, task: Task| Collector::new(&shared).carry_out(&task).await;
    shared.queue.work(WORKERS, async {}, &shared, look_at).await;
}

// === impl Shared ===

impl Shared {
    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe(&self, kind: &GroupKind, object: &PartialObjectMeta<DynamicObject>) {
        let Some(uid) = object.uid() else { return };
        let tasks = self.graph().observe(uid.into(), Node::new(kind.clone(), &object.metadata));
        self.queue.extend(tasks);
    }

    fn forget(&self, uid: &str) {
        let tasks = self.graph().forget(uid);
        self.queue.extend(tasks);
    }
}
