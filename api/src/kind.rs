//! What makes a struct usable with Kubernetes' own Rust types and clients.

use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::Resource;
use serde::de::IgnoredAny;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The `apiVersion` and `kind` of a struct, which are always those of its type.
pub struct TypeMeta<K>(PhantomData<fn() -> K>);

/// Says how a struct with `metadata` is called.
macro_rules! kind {
    ($type:ident, $group:literal, $version:literal, $plural:literal, $scope:ident) => {
        impl k8s_openapi::Resource for $type {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = stringify!($type);
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = k8s_openapi::$scope;
        }

        impl k8s_openapi::Metadata for $type {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use kind;

// === impl TypeMeta ===

impl<K: Resource> Serialize for TypeMeta<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("apiVersion", K::API_VERSION)?;
        fields.serialize_entry("kind", K::KIND)?;
        fields.end()
    }
}

impl<'de, K> Deserialize<'de> for TypeMeta<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::default())
    }
}

// Derived, these would ask the same of `K`.

impl<K> Default for TypeMeta<K> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<K> Clone for TypeMeta<K> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<K> PartialEq for TypeMeta<K> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<K: Resource> fmt::Debug for TypeMeta<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", K::API_VERSION, K::KIND)
    }
}
