//! What a host means by 404: that an object is not there, or that it serves nothing where the object would be.
//!
//! Only the first says anything about the object. A version that is served no more, a group whose server is away, a page of
//! whoever stands between: what cannot be reached for any of these may still be there. Whoever concludes from an answer that an
//! object is gone does so here.

use std::fmt::Debug;

use kube::api::PartialObjectMeta;
use kube::core::Status;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::place::in_path;

const NAMESPACES: &str = "namespaces";

/// An object, or that it is not there. Unlike `Api::get_opt` this fails where the path is not served.
pub(crate) async fn look_up<K>(api: &Api<K>, name: &str) -> kube::Result<Option<K>>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    unless_absent(api.get(&in_path(name)).await, api, name)
}

/// The same of its metadata.
pub(crate) async fn look_up_metadata<K>(api: &Api<K>, name: &str) -> kube::Result<Option<PartialObjectMeta<K>>>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    unless_absent(api.get_metadata(&in_path(name)).await, api, name)
}

/// The answer to a request about an object, or none if it is that the object is not there.
pub(crate) fn unless_absent<T, K: Resource>(
    answer: kube::Result<T>,
    api: &Api<K>,
    name: &str,
) -> kube::Result<Option<T>> {
    let plural = api.resource_url().rsplit('/').next();
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if is_object_absent(&status, plural.unwrap_or_default(), name) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether this says that the host serves nothing where an object would be.
pub(crate) fn is_path_absent(status: &Status) -> bool {
    status.code == 404 && named(status).is_none()
}

/// Whether this says that an object is not there. What is not there may also be its namespace, which can have the same name.
fn is_object_absent(status: &Status, plural: &str, name: &str) -> bool {
    let Some((kind, found)) = named(status) else { return false };
    status.code == 404 && found == name && (kind != NAMESPACES || plural == NAMESPACES)
}

/// What an API server has not found, which it names: whoever knows no such path names nothing.
fn named(status: &Status) -> Option<(&str, &str)> {
    let details = status.details.as_ref().filter(|details| status.reason == "NotFound" && !details.name.is_empty())?;
    Some((&details.kind, &details.name))
}

#[cfg(test)]
mod tests;
