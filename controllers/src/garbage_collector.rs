//! Removes what nobody owns any more, and lets go of what waits for that.
//!
//! An object that names owners stays as long as one of them is there. An owner that was deleted in the foreground waits
//! until those it owns are gone; one that was deleted with the wish to orphan them is first taken away from them. Nothing is
//! removed on the ground of what was seen alone: the object is read again, and the deletion names its UID and version. An owner
//! counts as gone if it was seen to go, or is asked for and not there; one whose kind is not served may still be there. And nobody
//! is let go who may own something of a kind that was not there when kinds were last asked for: these are asked for again first.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout, timeout_at};

use crate::queue::Queue;
use crate::served_kinds::{GroupKind, Served, ServedKinds, discover};

mod collect;
mod departed;
mod graph;

use collect::{CollectError, Collector};
use graph::{Graph, Loss, Node, Task, Uid};

/// How often it is asked which kinds there are.
const DISCOVER_EVERY: Duration = Duration::from_secs(5);
/// How long the first look at a kind is waited for. A kind that cannot be read must not stop the others for ever.
const FIRST_LOOK: Duration = Duration::from_secs(30);
/// How long it is waited for that kinds are asked for again. Who waits in vain tries again later.
const LOOK: Duration = Duration::from_secs(10);
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
    /// How often kinds were asked for, or have begun to be.
    looks_begun: AtomicU64,
    /// workers --kinds are to be asked for again--> who follows them
    look_wanted: Notify,
    /// who follows kinds --all are followed that there were--> workers
    looks: watch::Sender<Look>,
}

/// What was followed after kinds were asked for.
#[derive(Clone, Default)]
struct Look {
    /// Which time it was.
    number: u64,
    followed: Vec<FirstLook>,
}

/// The first look at a kind.
#[derive(Clone)]
struct FirstLook {
    /// Whether all objects were seen once.
    complete: watch::Receiver<bool>,
    /// How long it is waited for.
    until: Instant,
}

/// Who follows the objects of a kind.
struct Follower {
    served: Served,
    task: tokio::task::AbortHandle,
    first_look: FirstLook,
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
            looks_begun: AtomicU64::new(0),
            look_wanted: Notify::new(),
            looks: watch::Sender::default(),
        });
        // Ends with this future.
        let mut tasks = JoinSet::new();
        let mut followers = BTreeMap::new();
        let mut working = false;
        let mut pace = interval(DISCOVER_EVERY);
        loop {
            tokio::select! {
                _ = pace.tick() => {}
                () = shared.look_wanted.notified() => {}
            }
            let number = shared.looks_begun.fetch_add(1, Ordering::SeqCst) + 1;
            match discover(&shared.client).await {
                Ok(kinds) => {
                    follow(&shared, &kinds, &mut followers, &mut tasks);
                    shared.looks.send_replace(Look { number, followed: first_looks(&followers) });
                }
                Err(error) => tracing::warn!(%error, "the garbage collector cannot find out which kinds there are"),
            }
            if !working && !followers.is_empty() {
                working = true;
                wait_for_first_looks(&first_looks(&followers)).await;
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
            gone.iter().for_each(|uid| shared.forget(uid, Loss::Unfollowed));
        }
        stays
    });
    for (kind, served) in kinds.iter().filter(|(kind, served)| wanted(kind, served)) {
        followers.entry(kind.clone()).or_insert_with(|| {
            let (complete, seen) = watch::channel(false);
            let task = tasks.spawn(follow_kind(shared.clone(), kind.clone(), served.clone(), complete));
            let first_look = FirstLook { complete: seen, until: Instant::now() + FIRST_LOOK };
            Follower { served: served.clone(), task, first_look }
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
                known.difference(&listed).for_each(|uid| shared.forget(uid, Loss::Deleted));
                complete.send_replace(true);
            }
            Ok(watcher::Event::Apply(object)) => shared.observe(&kind, &object),
            Ok(watcher::Event::Delete(object)) => {
                object.uid().iter().for_each(|uid| shared.forget(uid, Loss::Deleted));
            }
            Err(error) => tracing::debug!(kind = kind.kind, %error, "the garbage collector looks at a kind again"),
        }
    }
}

fn first_looks(followers: &BTreeMap<GroupKind, Follower>) -> Vec<FirstLook> {
    followers.values().map(|follower| follower.first_look.clone()).collect()
}

/// Owners are only missed by those who have looked everywhere.
async fn wait_for_first_looks(first_looks: &[FirstLook]) {
    let mut are_complete = true;
    for FirstLook { complete, until } in first_looks {
        let mut complete = complete.clone();
        // A follower that has ended has nothing to say.
        are_complete &= timeout_at(*until, complete.wait_for(|complete| *complete)).await.is_ok();
    }
    if !are_complete {
        tracing::warn!("the garbage collector goes on though it has not seen all objects");
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

    /// Waits until all objects are known of all kinds that there are when this is called. All who wait share one look.
    async fn look_everywhere(&self) -> Result<(), CollectError> {
        let wanted = self.looks_begun.load(Ordering::SeqCst) + 1;
        let mut looks = self.looks.subscribe();
        self.look_wanted.notify_one();
        let looked = timeout(LOOK, looks.wait_for(|look| look.number >= wanted)).await;
        let look = looked.ok().and_then(Result::ok).map(|look| look.clone()).ok_or(CollectError::KindsUnknown)?;
        wait_for_first_looks(&look.followed).await;
        Ok(())
    }

    fn observe(&self, kind: &GroupKind, object: &PartialObjectMeta<DynamicObject>) {
        let Some(uid) = object.uid() else { return };
        let tasks = self.graph().observe(uid.into(), Node::new(kind.clone(), &object.metadata));
        self.queue.extend(tasks);
    }

    fn forget(&self, uid: &str, loss: Loss) {
        let tasks = self.graph().forget(uid, loss);
        self.queue.extend(tasks);
    }
}
