//! What can be reached below an object, other than its status: `organizations/acme/groups`.

mod view;

use std::num::NonZeroUsize;

use async_trait::async_trait;
use bailiwick_machinery::{GroupResource, GroupVersion, Object};

pub(crate) use self::view::{View, Viewed};

use crate::context::Ctx;
use crate::delete::{DeleteOptions, Deleted};
use crate::error::{Error, Result};
use crate::kind::Version;
use crate::registry::Registry;

/// What can be done with a subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubresourceVerb {
    /// Make something of it.
    Create,
    /// Remove something of it, which the path names.
    Delete,
    /// Read it.
    Get,
    /// Replace something of it.
    Update,
}

/// A subresource. Objects that come with a request are of the kind that [`Subresource::kind`] names.
#[async_trait]
pub trait Subresource: Send + Sync + 'static {
    /// The last part of its path.
    fn name(&self) -> &'static str;

    /// The kind that it reads and writes.
    fn kind(&self) -> &'static str;

    /// The kind of what [`Subresource::get`] gives, if it is another one.
    fn read_kind(&self) -> &'static str {
        self.kind()
    }

    /// The group, version and form of [`Subresource::kind`], if it is none of the parent's group and version.
    fn foreign(&self) -> Option<&Version> {
        None
    }

    /// Whether what it reads or writes carries secrets, such as tokens.
    fn is_secret_bearing(&self) -> bool {
        false
    }

    /// What can be done with it, in order.
    fn verbs(&self) -> &'static [SubresourceVerb];

    /// Reads it.
    async fn get(&self, call: SubresourceCall<'_>) -> Result<Object> {
        Err(self.not_supported(&call, SubresourceVerb::Get))
    }

    /// Makes something of it.
    async fn create(&self, call: SubresourceCall<'_>, _: SubresourceBody) -> Result<SubresourceAnswer> {
        Err(self.not_supported(&call, SubresourceVerb::Create))
    }

    /// Replaces something of it.
    async fn update(&self, call: SubresourceCall<'_>, _: SubresourceBody) -> Result<SubresourceAnswer> {
        Err(self.not_supported(&call, SubresourceVerb::Update))
    }

    /// Removes something of it.
    async fn delete(&self, call: SubresourceCall<'_>, _item: &str, _: &DeleteOptions) -> Result<Deleted> {
        Err(self.not_supported(&call, SubresourceVerb::Delete))
    }

    /// Nobody asks for what is not among the verbs; whoever does is told so.
    fn not_supported(&self, call: &SubresourceCall<'_>, verb: SubresourceVerb) -> Error {
        let resource = GroupResource::new(call.group_version.group.clone(), self.name());
        Error::NotSupported { resource, action: verb.as_str() }
    }
}

/// Which part is meant of what is too much for one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page<'c> {
    /// Not more than so much.
    pub limit: Option<NonZeroUsize>,
    /// Behind this, which an earlier answer ended with.
    pub after: Option<&'c str>,
}

/// Which subresource of which object is meant, and by whom.
#[derive(Clone, Copy)]
pub struct SubresourceCall<'c> {
    /// Who asks, and when.
    pub ctx: &'c Ctx<'c>,
    /// Everything there is.
    pub registry: &'c Registry,
    /// The group and version of the request.
    pub group_version: &'c GroupVersion,
    /// The namespace of the parent; empty if it has none.
    pub namespace: &'c str,
    /// The name of the parent.
    pub name: &'c str,
    /// Which part of it is asked for, of what can be read part by part.
    pub page: Page<'c>,
}

/// What came with the request.
#[derive(Clone, Debug)]
pub struct SubresourceBody {
    /// The object.
    pub object: Object,
    /// How to write it.
    pub options: crate::write::WriteOptions,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct SubresourceAnswer {
    /// The object as it is now.
    pub object: Object,
    /// What the client should know.
    pub warnings: Vec<String>,
}

// === impl SubresourceVerb ===

impl SubresourceVerb {
    /// As discovery and authorization name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::Update => "update",
        }
    }
}
