//! `resourcecatalogs/{name}/entries`: all entries of a catalog, part by part.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use bailiwick_api::{ResourceCatalog, ResourceCatalogEntries, ResourceCatalogEntry};
use bailiwick_machinery::GroupResource;
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::error::{Error, Result};
use crate::read::{ListRequest, encoded};
use crate::selection::Selection;
use crate::subresource::{SubresourceCall, View};
use crate::typed::typed;

/// How many entries are told of at once, if nobody asks for fewer.
const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("1,000 is not zero");

#[async_trait]
impl View for ResourceCatalogEntries {
    const NAME: &'static str = "entries";

    /// What is in a catalog stands in each entry's own status, so that an entry that changes is one write.
    async fn of(call: SubresourceCall<'_>) -> Result<Self> {
        let catalog = catalog(&call).await?;
        let metadata = ObjectMeta { name: catalog.metadata.name.clone(), ..ObjectMeta::default() };
        let mut view = Self { metadata, ..Self::default() };
        let limit = call.page.limit.unwrap_or(PAGE).min(PAGE);
        let mut after = call.page.after.map(str::to_owned);
        let Some(kind) = call.registry.find(call.group_version, "resourcecatalogentries") else {
            return Ok(view);
        };
        let Some(selection) = selection(&catalog) else { return Ok(view) };
        let selection = Selection::parse(&kind, &selection, "")?;
        // Those that are selected and not accepted are left out, so one list may not be enough.
        while view.entries.len() < limit.get() {
            let request = ListRequest {
                namespace: None,
                selection: &selection,
                at: At::Latest,
                after: after.as_deref(),
                limit: Some(limit),
            };
            let list = call.registry.list(&kind, &request).await?;
            for object in &list.objects {
                let object = kind.read(&encoded(&kind, object)?);
                let object = object.map_err(|error| error.about(&kind.resource(), call.name))?;
                let entry: ResourceCatalogEntry = typed(&object)?;
                if entry.is_in(call.name) {
                    view.entries.push(entry.info());
                }
                if view.entries.len() == limit.get() {
                    let metadata = object.metadata();
                    view.continue_ = Some(format!("{}/{}", metadata.namespace(), metadata.name()));
                    return Ok(view);
                }
            }
            after = list.next;
            if after.is_none() {
                break;
            }
        }
        Ok(view)
    }
}

async fn catalog(call: &SubresourceCall<'_>) -> Result<ResourceCatalog> {
    let absent = || Error::NotFound {
        resource: GroupResource::new(call.group_version.group.clone(), "resourcecatalogs"),
        name: call.name.to_owned(),
    };
    let kind = call.registry.find(call.group_version, "resourcecatalogs").ok_or_else(absent)?;
    let found = call.registry.get(&kind, "", call.name, At::Latest).await?;
    typed(&kind.read(&found).map_err(|error| error.about(&kind.resource(), call.name))?)
}

/// The catalog's selector as lists take it; `None` if it selects nothing.
fn selection(catalog: &ResourceCatalog) -> Option<String> {
    let pairs = catalog.spec.selector.as_ref()?.iter().map(|(key, value)| format!("{key}={value}"));
    Some(pairs.collect::<Vec<_>>().join(","))
}
