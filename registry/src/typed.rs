//! Between objects and the Rust types of their kinds.

use bailiwick_machinery::Object;
use k8s_openapi::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};

/// An object as its type. What is stored was accepted once, so it has that form.
pub(crate) fn typed<T: Resource + DeserializeOwned>(object: &Object) -> Result<T> {
    let failed = |error| Error::Failed { what: T::KIND, why: format!("{}: {error}", object.metadata().name()) };
    T::deserialize(object.as_value()).map_err(failed)
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
