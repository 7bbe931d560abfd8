//! Empties namespaces that are to end, and lets them go.
//!
//! What is in such a namespace is asked to go, kind by kind, whatever kinds there are at that moment. What stays, because
//! someone else holds it, is told in the namespace's conditions and watched: the namespace goes when the last of it goes.
//! Nothing new comes meanwhile, as nothing can be made in a namespace that is to end. Another controller may be faster, and a
//! namespace of the same name may be there at any time: what is removed was there while this one was seen to end.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use futures::stream::{FuturesUnordered, select_all};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::absence::look_up;
use crate::queue::Queue;

mod conditions;
mod content;

use conditions::set_conditions;
use content::{Content, Left};

/// The finalizer in a namespace's spec that says that someone will empty it.
const FINALIZER: &str = "kubernetes";
/// How many namespaces are emptied at once.
const WORKERS: usize = 10;
/// How long something that goes waits for more that goes with it.
const TOGETHER: Duration = Duration::from_millis(20);
/// After which time it is looked again at what cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(1);
/// After which time it is looked again, whatever happened.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Empties namespaces that are to end.
pub struct NamespaceController {
    client: Client,
    now: fn() -> SystemTime,
}

/// What the parts of the controller share.
struct Shared {
    client: Client,
    now: fn() -> SystemTime,
    queue: Queue<String>,
    /// For each namespace that cannot go yet, who waits for what is left in it.
    waiting: Mutex<HashMap<String, AbortOnDropHandle<()>>>,
}

/// A namespace that is to end.
struct Ending<'n> {
    namespaces: Api<Namespace>,
    name: &'n str,
    uid: Option<String>,
}

/// Why a namespace is not empty. It is tried again.
#[derive(Debug, thiserror::Error)]
enum EndError {
    #[error("the namespace \"{name}\" could not be read or changed")]
    Namespace { name: String, source: Box<kube::Error> },
    #[error("the namespace \"{name}\" could not be emptied: {failures}")]
    Content { name: String, failures: String },
}

// === impl NamespaceController ===

impl NamespaceController {
    /// One that acts as this client's user, who must be allowed to change namespaces and to follow and delete everything.
    pub fn new(client: Client, now: fn() -> SystemTime) -> Self {
        Self { client, now }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { client, now } = self;
        let shared =
            Arc::new(Shared { client, now, queue: Queue::new("namespace-controller"), waiting: Mutex::default() });
        let look_at = async |shared: Arc<Shared>, name: String| shared.look_at(&name).await;
        tokio::join!(follow(&shared), shared.queue.work(WORKERS, async {}, &shared, look_at));
    }
}

/// Asks for each namespace that is to end whenever it changes.
async fn follow(shared: &Shared) {
    let namespaces: Api<Namespace> = Api::all(shared.client.clone());
    let mut events = pin!(watcher(namespaces, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(namespace) | watcher::Event::InitApply(namespace)) => {
                if is_ending(&namespace) {
                    shared.queue.add(namespace.name_any());
                }
            }
            Ok(watcher::Event::Delete(namespace)) => shared.stop_waiting(&namespace.name_any()),
            Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
            Err(error) => tracing::debug!(%error, "the namespace controller looks at namespaces again"),
        }
    }
}

/// Empties a namespace and lets it go, if it is to end. Gives what is left in it.
async fn end(shared: &Shared, name: &str) -> Result<Vec<Left>, EndError> {
    let failed = |source| EndError::Namespace { name: name.to_owned(), source: Box::new(source) };
    let namespaces: Api<Namespace> = Api::all(shared.client.clone());
    shared.stop_waiting(name);
    let Some(mut namespace) = look_up(&namespaces, name).await.map_err(failed)? else { return Ok(Vec::new()) };
    if !is_ending(&namespace) {
        return Ok(Vec::new());
    }
    let ending = Ending { namespaces: namespaces.clone(), name, uid: namespace.metadata.uid.clone() };
    let content = Content::remove(&shared.client, &ending).await;
    if set_conditions(&mut namespace, &content, (shared.now)()) {
        namespace = namespaces.replace_status(name, &crate::post(), &namespace).await.map_err(failed)?;
    }
    if !content.failures.is_empty() || content.discovery_failure.is_some() {
        return Err(EndError::Content { name: name.to_owned(), failures: content.describe_failures() });
    }
    if content.left.is_empty() {
        let finalizers = namespace.spec.get_or_insert_default().finalizers.get_or_insert_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        let let_go = namespaces.replace_subresource("finalize", name, &crate::post(), &namespace).await;
        match let_go {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            other => drop(other.map_err(failed)?),
        }
        tracing::debug!(namespace = name, "is empty");
    }
    Ok(content.left)
}

/// Whether a namespace is to end and waits for us.
fn is_ending(namespace: &Namespace) -> bool {
    let finalizers = namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_ref());
    let is_ours = finalizers.is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == FINALIZER));
    is_ours && namespace.metadata.deletion_timestamp.is_some()
}

// === impl Ending ===

impl Ending<'_> {
    /// Whether it is still there, and not another one of its name.
    async fn is_so(&self) -> kube::Result<bool> {
        let found = look_up(&self.namespaces, self.name).await?;
        Ok(found.is_some_and(|found| is_ending(&found) && found.metadata.uid == self.uid))
    }
}

// === impl Shared ===

impl Shared {
    async fn look_at(&self, name: &str) -> Result<(), EndError> {
        let left = end(self, name).await?;
        if !left.is_empty() {
            self.wait(name, left);
        }
        Ok(())
    }

    /// Asks for a namespace again once something of what is left in it changes.
    fn wait(&self, name: &str, left: Vec<Left>) {
        // Not all that is shared, which holds this task.
        let (client, queue, namespace) = (self.client.clone(), self.queue.clone(), name.to_owned());
        let waiting = tokio::spawn(async move {
            // That nothing happened is a reason to look again, too.
            let _ = timeout(LOOK_AGAIN, change(&client, &namespace, &left)).await;
            queue.add(namespace);
        });
        self.waiting().insert(name.to_owned(), AbortOnDropHandle::new(waiting));
    }

    fn stop_waiting(&self, name: &str) {
        self.waiting().remove(name);
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, AbortOnDropHandle<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until something changes of what was left, and a little longer, as more may go with it.
async fn change(client: &Client, namespace: &str, left: &[Left]) {
    let watch = async |left: &Left| {
        let api = left.api(client, namespace);
        api.watch_metadata(&WatchParams::default(), &left.version).await.map(StreamExt::boxed)
    };
    let watches: Vec<_> = left.iter().map(watch).collect::<FuturesUnordered<_>>().collect().await;
    let mut events = select_all(watches.into_iter().filter_map(Result::ok));
    let pause = loop {
        match events.next().await {
            Some(Ok(WatchEvent::Bookmark(_))) => {}
            Some(Ok(WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_))) => break TOGETHER,
            Some(_) | None => break UNWATCHED,
        }
    };
    sleep(pause).await;
}
