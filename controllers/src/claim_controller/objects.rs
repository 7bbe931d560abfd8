//! Objects of kinds that are data, as JSON: each write says which state it means, and who does it.

use bailiwick_api::claims::KindFacts;
use bailiwick_machinery::name;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{FIELD_MANAGER, WorkError};
use crate::absence::{look_up, unless_absent};

/// How many objects are asked for at once.
const PAGE: u32 = 500;

/// The objects of a kind in a namespace, or of the cluster.
pub(super) struct Objects(Api<DynamicObject>);

/// The kind as clients name it.
pub(super) fn api_resource(facts: &KindFacts) -> ApiResource {
    ApiResource {
        group: facts.group.clone(),
        version: facts.version.clone(),
        api_version: facts.api_version(),
        kind: facts.kind.clone(),
        plural: facts.plural.clone(),
    }
}

/// A merge patch of the metadata of the object that was looked at, and of no later one.
pub(super) fn metadata_patch(object: &Value, more: Value) -> Value {
    let mut metadata = json!({
        "uid": object["metadata"]["uid"],
        "resourceVersion": object["metadata"]["resourceVersion"],
    });
    if let (Value::Object(metadata), Value::Object(more)) = (&mut metadata, more) {
        metadata.extend(more);
    }
    json!({ "metadata": metadata })
}

/// The finalizers of an object.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The finalizers with one more.
pub(super) fn with_finalizer(object: &Value, finalizer: &str) -> Value {
    let mut all = finalizers(object);
    if !all.contains(&finalizer) {
        all.push(finalizer);
    }
    json!(all)
}

/// The finalizers without one.
pub(super) fn without_finalizer(object: &Value, finalizer: &str) -> Value {
    json!(finalizers(object).into_iter().filter(|other| *other != finalizer).collect::<Vec<_>>())
}

/// Whether an object of a kind that is data can have this name.
pub(super) fn is_name(name: &str) -> bool {
    name::dns1123_subdomain(name).is_empty()
}

/// Whether a namespace can have this name.
pub(super) fn is_namespace(name: &str) -> bool {
    name::dns1123_label(name).is_empty()
}

/// Whether an object is about to go.
pub(super) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// A text in an object; empty if it is not there.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

// === impl Objects ===

impl Objects {
    /// Those of a kind. The namespace is ignored where there are none.
    pub(super) fn new(client: &Client, facts: &KindFacts, namespace: &str) -> Self {
        let resource = api_resource(facts);
        Self(match facts.namespaced {
            true => Api::namespaced_with(client.clone(), namespace, &resource),
            false => Api::all_with(client.clone(), &resource),
        })
    }

    /// Those of a kind, in all namespaces.
    pub(super) fn all(client: &Client, facts: &KindFacts) -> Self {
        Self(Api::all_with(client.clone(), &api_resource(facts)))
    }

    /// Looks at all that there are at this moment, some at a time.
    pub(super) async fn each(&self, mut look_at: impl FnMut(&Value)) -> Result<(), WorkError> {
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = self.0.list(&params).await?;
            for object in page.items {
                look_at(&serde_json::to_value(object)?);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(()),
            }
        }
    }

    /// What there is of a name. It fails where the kind is not served: that nothing is found then would not mean that nothing is
    /// there. A text that is no name is not looked for: it would stand in a path.
    pub(super) async fn get(&self, name: &str) -> Result<Option<Value>, WorkError> {
        if !is_name(name) {
            return Ok(None);
        }
        Ok(look_up(&self.0, name).await?.map(serde_json::to_value).transpose()?)
    }

    /// Makes an object; none if there is one of its name.
    pub(super) async fn create(&self, object: Value) -> Result<Option<Value>, WorkError> {
        let object: DynamicObject = serde_json::from_value(object)?;
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match self.0.create(&params, &object).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(None),
            made => Ok(Some(serde_json::to_value(made?)?)),
        }
    }

    /// Changes an object.
    pub(super) async fn patch(&self, name: &str, patch: &Value) -> Result<Value, WorkError> {
        let changed = self.0.patch(name, &params(), &Patch::Merge(patch)).await?;
        Ok(serde_json::to_value(changed)?)
    }

    /// Changes the status of an object.
    pub(super) async fn patch_status(&self, name: &str, patch: &Value) -> Result<Value, WorkError> {
        let changed = self.0.patch_status(name, &params(), &Patch::Merge(patch)).await?;
        Ok(serde_json::to_value(changed)?)
    }

    /// Removes this very object.
    pub(super) async fn delete(&self, object: &Value) -> Result<(), WorkError> {
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
        let preconditions = Preconditions { uid, resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let name = text(object, "/metadata/name");
        unless_absent(self.0.delete(name, &params).await, &self.0, name)?;
        Ok(())
    }
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}
