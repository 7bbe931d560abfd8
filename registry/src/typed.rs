//! Between objects and the Rust types of their kinds.

use bailiwick_machinery::Object;
use k8s_openapi::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};

/// An object as its type. What is stored was accepted once, so it has that form; who owns its fields is left out if that alone
/// cannot be read, because anyone who may write the object may say it.
pub(crate) fn typed<T: Resource + DeserializeOwned>(object: &Object) -> Result<T> {
    T::deserialize(object.as_value()).or_else(|_| {
        let mut object = object.clone();
        object.metadata_mut().remove("managedFields");
        let failed = |error| Error::Failed { what: T::KIND, why: format!("{}: {error}", object.metadata().name()) };
        T::deserialize(object.as_value()).map_err(failed)
    })
}

/// The same for whoever makes a picture of many objects: none if this one cannot be read, which is told. It gives nothing then,
/// and does not keep the others.
pub(crate) fn typed_or_told<T: Resource + DeserializeOwned>(object: &Object) -> Option<T> {
    let metadata = object.metadata();
    let told = |error: &Error| {
        let (namespace, name) = (metadata.namespace(), metadata.name());
        tracing::error!(
            error = error as &dyn std::error::Error,
            namespace,
            name,
            "an object counts as if it were not there"
        );
    };
    typed(object).inspect_err(told).ok()
}

/// What follows from other objects, as an object of its own kind.
pub(crate) fn object_of<T: Resource + Serialize>(view: &T) -> Result<Object> {
    let failed = |why: String| Error::Failed { what: T::KIND, why };
    match serde_json::to_value(view) {
        Ok(Value::Object(fields)) => Ok(Object::new(fields)),
        Ok(_) => Err(failed("it is no object".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}
