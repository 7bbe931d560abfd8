//! What is in a namespace, and how it is asked to go.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::iter;
use http::uri::InvalidUri;
use kube::api::{DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Preconditions, Request};
use kube::core::discovery::verbs;
use kube::{Api, Client, ResourceExt};

use super::Ending;
use crate::place::in_path;
use crate::served_kinds::{Served, discover};

/// How many kinds are looked at at once.
const KINDS_AT_ONCE: usize = 8;
/// How many objects of a kind are deleted at once that cannot be deleted together.
const OBJECTS_AT_ONCE: usize = 16;

/// What became of the content of a namespace.
#[derive(Default)]
pub(super) struct Content {
    /// What is still there.
    pub(super) left: Vec<Left>,
    /// Why it is not known which kinds there are.
    pub(super) discovery_failure: Option<String>,
    /// What could not be listed or deleted, and why.
    pub(super) failures: Vec<String>,
}

/// Objects of a kind that are still there.
pub(super) struct Left {
    pub(super) served: Served,
    pub(super) objects: usize,
    /// How many are held by each finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// The version of the list that showed them.
    pub(super) version: String,
}

type Metadata = PartialObjectMeta<DynamicObject>;

// === impl Content ===

impl Content {
    /// Asks everything in a namespace to go. A kind that cannot be asked does not keep the others.
    pub(super) async fn remove(client: &Client, ending: &Ending<'_>) -> Self {
        let kinds = match discover(client).await {
            Ok(kinds) => kinds,
            Err(error) => return Self { discovery_failure: Some(error.to_string()), ..Self::default() },
        };
        let kinds = kinds
            .into_values()
            .filter(|served| served.namespaced && [verbs::DELETE, verbs::LIST].iter().all(|verb| served.can(verb)));
        let mut content = Self::default();
        let mut outcomes = iter(kinds.map(|served| remove_kind(client, ending, served))).buffered(KINDS_AT_ONCE);
        while let Some(outcome) = outcomes.next().await {
            match outcome {
                Ok(left) => content.left.extend(left),
                Err(failure) => content.failures.push(failure),
            }
        }
        content
    }

    pub(super) fn describe_failures(&self) -> String {
        let failures = self.discovery_failure.iter().chain(&self.failures);
        failures.map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

// === impl Left ===

impl Left {
    fn new(served: Served, objects: &[Metadata], version: String) -> Self {
        let mut finalizers = BTreeMap::new();
        for finalizer in objects.iter().flat_map(ResourceExt::finalizers) {
            *finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        Self { served, objects: objects.len(), finalizers, version }
    }

    /// Where they are.
    pub(super) fn api(&self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), namespace, &self.served.resource)
    }
}

/// Asks all objects of a kind to go, and gives what is left. Most kinds have none, which one question tells.
///
/// The objects are looked at first, and then the namespace: what was there before it was seen to end is in no other one.
async fn remove_kind(client: &Client, ending: &Ending<'_>, served: Served) -> Result<Option<Left>, String> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), ending.name, &served.resource);
    let failed = |error: kube::Error| format!("{}: {error}", served.resource.plural);
    let can_go_together = served.can("deletecollection");
    let look = if can_go_together { ListParams::default().limit(1) } else { ListParams::default() };
    let found = api.list_metadata(&look).await.map_err(failed)?;
    if found.items.is_empty() || !ending.is_so().await.map_err(failed)? {
        return Ok(None);
    }
    if can_go_together {
        let version = found.metadata.resource_version.unwrap_or_default();
        remove_as_of(client, &api, &version).await.map_err(failed)?;
    } else {
        remove_each(&api, found.items).await.map_err(failed)?;
    }
    let list = api.list_metadata(&ListParams::default()).await.map_err(failed)?;
    let version = list.metadata.resource_version.unwrap_or_default();
    Ok((!list.items.is_empty()).then(|| Left::new(served, &list.items, version)))
}

/// Asks all objects to go that were there then, and are still the same.
async fn remove_as_of(client: &Client, api: &Api<DynamicObject>, version: &str) -> kube::Result<()> {
    let request = Request::new(api.resource_url());
    let request = request.delete_collection(&DeleteParams::background(), &ListParams::default());
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    // What the library leaves out: which state of the list is meant.
    let exactly = format!("{}&resourceVersion={version}&resourceVersionMatch=Exact", request.uri());
    *request.uri_mut() = exactly.parse().map_err(|error: InvalidUri| kube::Error::HttpError(error.into()))?;
    client.request_text(request).await.map(drop)
}

async fn remove_each(api: &Api<DynamicObject>, objects: Vec<Metadata>) -> kube::Result<()> {
    let remove = |object: Metadata| async move {
        let preconditions = Preconditions { uid: object.metadata.uid.clone(), ..Preconditions::default() };
        match api.delete(&in_path(&object.name_any()), &DeleteParams::background().preconditions(preconditions)).await {
            // The precondition can fail only if the object is gone and another one is there.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            other => other.map(drop),
        }
    };
    let outcomes: Vec<_> = iter(objects.into_iter().map(remove)).buffer_unordered(OBJECTS_AT_ONCE).collect().await;
    outcomes.into_iter().collect()
}
