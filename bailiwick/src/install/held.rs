//! What the servers hold in a cluster, by finalizers that nobody but them takes away: claims, the resources that are bound to them,
//! and the classes that they use. Without the servers none of it can be deleted any more, nor can a namespace that it is in.
//!
//! It is looked for in every kind that a CustomResourceDefinition defines: claims, resources and classes are such, whether their
//! definitions can be read at the moment or not. What cannot be looked at is told of, never taken for nothing. Nothing here decides
//! that something is let go of.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::CLAIM_FINALIZER;
use bailiwick_api::claims::{BOUND_FINALIZER, CLASS_FINALIZER};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ApiResource;
use serde_json::{Value, json};

use crate::report;

use super::cluster::{Cluster, ClusterError, Place};

/// The finalizers that only the servers take away, from objects of a cluster.
const FINALIZERS: [&str; 3] = [CLAIM_FINALIZER, BOUND_FINALIZER, CLASS_FINALIZER];

/// How many of the objects are told of one by one.
const MOST_TOLD: usize = 20;

/// What is held.
#[derive(Default)]
pub(super) struct Holdings {
    pub(super) objects: Vec<Held>,
    /// Kinds that cannot be listed, each with the reason: nobody knows what is held of them.
    pub(super) unknown: Vec<String>,
    /// For each namespace that has objects of such kinds, held or not, one of them.
    residents: BTreeMap<String, Place>,
}

/// An object that is held.
pub(super) struct Held {
    resource: ApiResource,
    pub(super) place: Place,
    metadata: ObjectMeta,
}

// === impl Holdings ===

impl Holdings {
    /// What is held in a cluster at this moment.
    pub(super) async fn of(cluster: &Cluster) -> Result<Self, ClusterError> {
        let mut holdings = Self::default();
        for definition in cluster.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", "").await? {
            let Some(resource) = served(&definition) else {
                // What was made while one was served is kept, and held, as it was.
                let Place { name, .. } = Place::of(&definition);
                let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default();
                holdings.unknown.push(format!("{kind} ({name}): no version of it is served"));
                continue;
            };
            let listed = cluster.each(&resource, |metadata| holdings.add(&resource, metadata)).await;
            if let Err(error) = listed {
                let (kind, plural, group) = (&resource.kind, &resource.plural, &resource.group);
                holdings.unknown.push(format!("{kind} ({plural}.{group}): {error}"));
            }
        }
        Ok(holdings)
    }

    /// An object of such a kind in a namespace, held or not, if there is one.
    pub(super) fn resident(&self, namespace: &str) -> Option<&Place> {
        self.residents.get(namespace)
    }

    /// Whether nothing is held, for certain.
    pub(super) fn are_none(&self) -> bool {
        self.objects.is_empty() && self.unknown.is_empty()
    }

    /// Says what is held, and how the servers let it go.
    pub(super) fn tell(&self) {
        for held in self.objects.iter().take(MOST_TOLD) {
            report::line(format!("held: {}: without the servers it cannot be deleted any more", held.place));
        }
        if let Some(more) = self.objects.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            report::line(format!("held: {more} more"));
        }
        self.tell_of_unknown();
        let claims = self.claims();
        if !claims.is_empty() {
            report::line(format!(
                "held: all of it is let go while the servers run, with: kubectl delete {} --all --all-namespaces; resources go, too, \
                 where their reclaimPolicy is not Retain",
                claims.into_iter().collect::<Vec<_>>().join(",")
            ));
        }
    }

    /// Says of which kinds nobody knows what is held.
    pub(super) fn tell_of_unknown(&self) {
        for unknown in &self.unknown {
            report::line(format!("held: it is not known which objects are, of the kind {unknown}"));
        }
    }

    fn add(&mut self, resource: &ApiResource, metadata: &ObjectMeta) {
        let Some(place) = place(resource, metadata) else { return };
        if let Some(namespace) = &place.namespace {
            self.residents.entry(namespace.clone()).or_insert_with(|| place.clone());
        }
        self.objects.extend(held(resource, place, metadata));
    }

    /// The kinds of claims among it, as kubectl knows them.
    fn claims(&self) -> BTreeSet<String> {
        let claims = self.objects.iter().filter(|held| held.finalizers().any(|finalizer| finalizer == CLAIM_FINALIZER));
        claims.map(|held| format!("{}.{}", held.resource.plural, held.resource.group)).collect()
    }
}

// === impl Held ===

impl Held {
    /// Lets it go, and leaves it as it is otherwise. Whether that was still possible: someone may have written it since.
    pub(super) async fn let_go(&self, cluster: &Cluster) -> Result<bool, ClusterError> {
        let left: Vec<_> = self.finalizers().filter(|finalizer| !FINALIZERS.contains(finalizer)).collect();
        let metadata = json!({
            "uid": self.metadata.uid, "resourceVersion": self.metadata.resource_version, "finalizers": left,
        });
        cluster.patch(&self.resource, &self.place, &json!({ "metadata": metadata })).await
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.metadata.finalizers.iter().flatten().map(String::as_str)
    }
}

/// How a kind is listed that a CustomResourceDefinition defines; `None` if it is not served. The version that objects are stored in
/// is the best: to be listed in another they may have to be converted, by somebody who may be gone.
fn served(definition: &Value) -> Option<ApiResource> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let served: Vec<_> = spec["versions"].as_array()?.iter().filter(|version| version["served"] == true).collect();
    let stored = served.iter().find(|version| version["storage"] == true);
    let version = text(&stored.or_else(|| served.first())?["name"])?;
    let group = text(&spec["group"])?;
    Some(ApiResource {
        api_version: format!("{group}/{version}"),
        group,
        version,
        kind: text(&spec["names"]["kind"])?,
        plural: text(&spec["names"]["plural"])?,
    })
}

fn place(resource: &ApiResource, metadata: &ObjectMeta) -> Option<Place> {
    Some(Place {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone()?,
    })
}

fn held(resource: &ApiResource, place: Place, metadata: &ObjectMeta) -> Option<Held> {
    let is_ours = |finalizer: &String| FINALIZERS.contains(&finalizer.as_str());
    let is_held = metadata.finalizers.iter().flatten().any(is_ours);
    is_held.then(|| Held { resource: resource.clone(), place, metadata: metadata.clone() })
}

#[cfg(test)]
mod tests;
