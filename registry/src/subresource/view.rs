//! What follows from other objects and can be read below an object: `organizations/acme/members`.

use std::marker::PhantomData;

use async_trait::async_trait;
use bailiwick_machinery::Object;
use k8s_openapi::Resource;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Subresource, SubresourceCall, SubresourceVerb};
use crate::error::Result;
use crate::kind::{KindError, Version};
use crate::typed::object_of;

/// The type of what is read.
#[async_trait]
pub(crate) trait View: Resource + JsonSchema + Serialize + Send + Sync + Sized + 'static {
    /// The last part of its path.
    const NAME: &'static str;

    /// What there is to be read below the object that the call names.
    async fn of(call: SubresourceCall<'_>) -> Result<Self>;
}

/// A subresource that can only be read.
pub(crate) struct Viewed<V> {
    version: Version,
    view: PhantomData<fn() -> V>,
}

// === impl Viewed ===

impl<V: View> Viewed<V> {
    pub(crate) fn new() -> Result<Self, KindError> {
        Ok(Self { version: Version::native::<V>()?, view: PhantomData })
    }
}

#[async_trait]
impl<V: View> Subresource for Viewed<V> {
    fn name(&self) -> &'static str {
        V::NAME
    }

    fn kind(&self) -> &'static str {
        V::KIND
    }

    fn foreign(&self) -> Option<&Version> {
        Some(&self.version)
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Get]
    }

    async fn get(&self, call: SubresourceCall<'_>) -> Result<Object> {
        object_of(&V::of(call).await?)
    }
}
