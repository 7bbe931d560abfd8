//! Writing the status of the object that was looked at, and of no later one.

use std::fmt::Debug;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What a server answers if an object would be larger than objects may be.
const TOO_LARGE: u16 = 413;

/// Why a status was not written. It is tried again.
#[derive(Debug, thiserror::Error)]
#[error("the status of {kind} \"{name}\" could not be written")]
pub(crate) struct StatusError {
    kind: &'static str,
    name: String,
    source: Box<kube::Error>,
}

// === impl StatusError ===

impl StatusError {
    /// Whether the object would have been larger with it than objects may be.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.code == TOO_LARGE)
    }
}

/// Writes what a merge patch says, as this field manager. An object that is gone needs no status.
pub(crate) async fn write<K>(api: &Api<K>, object: &K, status: Value, manager: &str) -> Result<(), StatusError>
where
    K: Metadata<Ty = ObjectMeta> + Clone + Debug + DeserializeOwned,
{
    written(api, object, status, manager).await.map(drop)
}

/// The same. Gives the object with its new status; `None` if it is gone.
pub(crate) async fn written<K>(api: &Api<K>, object: &K, status: Value, manager: &str) -> Result<Option<K>, StatusError>
where
    K: Metadata<Ty = ObjectMeta> + Clone + Debug + DeserializeOwned,
{
    let ObjectMeta { name, uid, resource_version, .. } = object.metadata().clone();
    let name = name.unwrap_or_default();
    let metadata = json!({ "uid": uid, "resourceVersion": resource_version });
    let patch = json!({ "metadata": metadata, "status": status });
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    match api.patch_status(&name, &params, &Patch::Merge(patch)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(source) => Err(StatusError { kind: K::KIND, name, source: Box::new(source) }),
        Ok(written) => Ok(Some(written)),
    }
}

/// A list in a merge patch: none is not there.
pub(crate) fn listed<T: serde::Serialize>(items: &[T]) -> Value {
    if items.is_empty() { Value::Null } else { json!(items) }
}
