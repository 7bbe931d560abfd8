//! `organizations/{name}/members` and `organizations/{name}/projects`: what follows from other objects, to be read.

use async_trait::async_trait;
use bailiwick_api::{Organization, OrganizationMembers, OrganizationProjects};
use bailiwick_machinery::GroupResource;
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::error::{Error, Result};
use crate::organizations::{Members, owned_by};
use crate::subresource::{SubresourceCall, View};
use crate::typed::typed;

#[async_trait]
impl View for OrganizationMembers {
    const NAME: &'static str = "members";

    async fn of(call: SubresourceCall<'_>) -> Result<Self> {
        let organization = organization(&call).await?;
        Ok(Members::of(call.registry, organization, At::Latest).await?.view())
    }
}

#[async_trait]
impl View for OrganizationProjects {
    const NAME: &'static str = "projects";

    async fn of(call: SubresourceCall<'_>) -> Result<Self> {
        let organization = organization(&call).await?;
        let projects = owned_by(call.registry, call.name, At::Latest).await?;
        let metadata = ObjectMeta { name: organization.metadata.name, ..ObjectMeta::default() };
        Ok(Self { metadata, projects, ..Self::default() })
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
    typed(&kind.read(&found).map_err(|error| error.about(&kind.resource(), call.name))?)
}
