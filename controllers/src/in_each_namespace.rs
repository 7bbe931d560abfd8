//! Keeps an object in each namespace: it is made where it is missing, and repaired where it is not as it is to be, or made anew
//! where it cannot be changed. A namespace that is to end gets none.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::select;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ObjectMeta, Preconditions};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use crate::absence::look_up;
use crate::queue::Queue;

const WORKERS: usize = 5;
/// How long an object that was repaired is left alone: someone who does not agree must not make this a race.
const REST: Duration = Duration::from_millis(200);

/// An object that each namespace is to have.
pub(crate) trait Wanted: Send + Sync + 'static {
    /// Its type.
    type Object: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;

    /// A new one.
    fn make(&self) -> Self::Object;

    /// What has to be done about the one there is, if it is not as it is to be.
    fn repair(&self, found: &Self::Object) -> Option<Repair<Self::Object>>;
}

/// What makes an object as it is to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Repair<O> {
    /// It becomes this.
    Change(Box<O>),
    /// Nothing can make it so: it goes, and another one is made.
    MakeAnew,
}

/// Who looks, who writes, and what.
struct Keeper<W> {
    reader: Client,
    writer: Client,
    wanted: W,
    name: String,
    queue: Queue<String>,
}

/// What was done in a namespace.
#[derive(PartialEq, Eq)]
enum Done {
    Nothing,
    Made,
    Repaired,
}

/// Keeps an object in each namespace until it is dropped, as the controller of this name.
pub(crate) async fn keep<W: Wanted>(controller: &'static str, reader: Client, writer: Client, wanted: W) {
    let name = wanted.make().name_any();
    let keeper = Arc::new(Keeper { reader, writer, wanted, name, queue: Queue::new(controller) });
    let look_at = async |keeper: Arc<Keeper<W>>, namespace: String| keeper.look_at(&namespace).await;
    tokio::join!(keeper.follow(), keeper.queue.work(WORKERS, async {}, &keeper, look_at));
}

// === impl Keeper ===

impl<W: Wanted> Keeper<W> {
    /// Asks for each namespace when it or its object changes.
    async fn follow(&self) {
        let namespaces: Api<Namespace> = Api::all(self.reader.clone());
        let objects: Api<W::Object> = Api::all(self.reader.clone());
        let by_name = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let namespaces = watcher(namespaces, watcher::Config::default()).default_backoff().map(|event| {
            event.map(|event| match event {
                watcher::Event::Apply(namespace) | watcher::Event::InitApply(namespace) => Some(namespace.name_any()),
                _ => None,
            })
        });
        let objects = watcher(objects, by_name).default_backoff().map(|event| {
            event.map(|event| match event {
                watcher::Event::Apply(object) | watcher::Event::InitApply(object) | watcher::Event::Delete(object) => {
                    object.namespace()
                }
                watcher::Event::Init | watcher::Event::InitDone => None,
            })
        });
        let mut events = pin!(select(namespaces, objects));
        while let Some(event) = events.next().await {
            match event {
                Ok(namespace) => self.queue.extend(namespace),
                Err(error) => tracing::debug!(object = self.name, %error, "namespaces are looked at again"),
            }
        }
    }

    async fn look_at(&self, namespace: &str) -> kube::Result<()> {
        if self.ensure(namespace).await? == Done::Repaired {
            sleep(REST).await;
        }
        Ok(())
    }

    async fn ensure(&self, namespace: &str) -> kube::Result<Done> {
        let namespaces: Api<Namespace> = Api::all(self.reader.clone());
        let stays = |namespace: &Namespace| namespace.metadata.deletion_timestamp.is_none();
        if !look_up(&namespaces, namespace).await?.as_ref().is_some_and(stays) {
            return Ok(Done::Nothing);
        }
        let known: Api<W::Object> = Api::namespaced(self.reader.clone(), namespace);
        let found = look_up(&known, &self.name).await?;
        let objects: Api<W::Object> = Api::namespaced(self.writer.clone(), namespace);
        let Some(found) = found else { return self.make(&objects).await };
        match self.wanted.repair(&found) {
            None => Ok(Done::Nothing),
            Some(Repair::Change(repaired)) => {
                settled(objects.replace(&self.name, &crate::post(), &repaired).await, Done::Repaired)
            }
            // Someone holds it. That it is gone comes as news.
            Some(Repair::MakeAnew) if found.meta().deletion_timestamp.is_some() => Ok(Done::Nothing),
            Some(Repair::MakeAnew) => {
                let ObjectMeta { uid, resource_version, .. } = found.meta().clone();
                let params = DeleteParams::default().preconditions(Preconditions { uid, resource_version });
                match settled(objects.delete(&self.name, &params).await, Done::Repaired)? {
                    Done::Repaired => self.make(&objects).await.map(|_| Done::Repaired),
                    done => Ok(done),
                }
            }
        }
    }

    async fn make(&self, objects: &Api<W::Object>) -> kube::Result<Done> {
        match objects.create(&crate::post(), &self.wanted.make()).await {
            // Someone was faster, or the namespace ends.
            Err(kube::Error::Api(status)) if status.is_already_exists() || status.is_not_found() => Ok(Done::Nothing),
            Err(kube::Error::Api(status)) if is_ending(&status) => Ok(Done::Nothing),
            other => other.map(|_| Done::Made),
        }
    }
}

/// What came of a write about the object that was looked at. If that was another one, or is gone, it comes again as news.
fn settled<T>(written: kube::Result<T>, done: Done) -> kube::Result<Done> {
    match written {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(Done::Nothing),
        other => other.map(|_| done),
    }
}

/// Whether something was refused because its namespace ends.
fn is_ending(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}
