//! `organizations/{name}/members` and `organizations/{name}/projects`: what follows from other objects, to be read.

use async_trait::async_trait;
use bailiwick_api::{Organization, OrganizationMembers, OrganizationProjects};
use bailiwick_machinery::{GroupResource, Object};
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::kind::{KindError, Version};
use crate::organizations::{Members, owned_by};
use crate::subresource::{Subresource, SubresourceCall, SubresourceVerb};

/// Who is a member, and how.
pub(super) struct MembersView(Version);

/// Which namespaces the organization owns.
pub(super) struct ProjectsView(Version);

// === impl MembersView ===

impl MembersView {
    pub(super) fn new() -> Result<Self, KindError> {
        Version::native::<OrganizationMembers>().map(Self)
    }
}

#[async_trait]
impl Subresource for MembersView {
    fn name(&self) -> &'static str {
        "members"
    }

    fn kind(&self) -> &'static str {
        "OrganizationMembers"
    }

    fn foreign(&self) -> Option<&Version> {
        Some(&self.0)
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Get]
    }

    async fn get(&self, call: SubresourceCall<'_>) -> Result<Object> {
        let organization = organization(&call).await?;
        object(&Members::of(call.registry, organization, At::Latest).await?.view())
    }
}

// === impl ProjectsView ===

impl ProjectsView {
    pub(super) fn new() -> Result<Self, KindError> {
        Version::native::<OrganizationProjects>().map(Self)
    }
}

#[async_trait]
impl Subresource for ProjectsView {
    fn name(&self) -> &'static str {
        "projects"
    }

    fn kind(&self) -> &'static str {
        "OrganizationProjects"
    }

    fn foreign(&self) -> Option<&Version> {
        Some(&self.0)
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Get]
    }

    async fn get(&self, call: SubresourceCall<'_>) -> Result<Object> {
        let organization = organization(&call).await?;
        let projects = owned_by(call.registry, call.name, At::Latest).await?;
        let metadata = ObjectMeta { name: organization.metadata.name, ..ObjectMeta::default() };
        object(&OrganizationProjects { metadata, projects, ..OrganizationProjects::default() })
    }
}

/// The organization that a request is about.
async fn organization(call: &SubresourceCall<'_>) -> Result<Organization> {
    let absent = || Error::NotFound {
        resource: GroupResource::new(call.group_version.group.clone(), "organizations"),
        name: call.name.to_owned(),
    };
    let kind = call.registry.find(call.group_version, "organizations").ok_or_else(absent)?;
    let found = call.registry.get(&kind, "", call.name, At::Latest).await?;
    let object = kind.read(&found).map_err(|error| error.about(&kind.resource(), call.name))?;
    Organization::deserialize(object.as_value())
        .map_err(|error| Error::Failed { what: "an organization", why: error.to_string() })
}

fn object(view: &impl Serialize) -> Result<Object> {
    match serde_json::to_value(view) {
        Ok(Value::Object(fields)) => Ok(Object::new(fields)),
        Ok(_) => Err(Error::Failed { what: "a view of an organization", why: "it is no object".to_owned() }),
        Err(error) => Err(Error::Failed { what: "a view of an organization", why: error.to_string() }),
    }
}
