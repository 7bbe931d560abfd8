//! `resourcecatalogs/{name}/entries`: all entries of a catalog, part by part.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use bailiwick_api::{ResourceCatalog, ResourceCatalogEntries, ResourceCatalogEntry};
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::catalogs::object_of;
use crate::error::Result;
use crate::kind::{KindError, Version};
use crate::read::{ListRequest, encoded, not_found};
use crate::ruled_write::typed;
use crate::selection::Selection;
use crate::subresource::{Subresource, SubresourceCall, SubresourceVerb};

/// How many entries are told of at once, if nobody asks for fewer.
const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("1,000 is not zero");

/// The entries of a catalog. What is in it stands in each entry's own status, so that an entry that changes is one write.
pub(super) struct Entries(Version);

// === impl Entries ===

impl Entries {
    pub(super) fn new() -> Result<Self, KindError> {
        Version::native::<ResourceCatalogEntries>().map(Self)
    }
}

#[async_trait]
impl Subresource for Entries {
    fn name(&self) -> &'static str {
        "entries"
    }

    fn kind(&self) -> &'static str {
        "ResourceCatalogEntries"
    }

    fn foreign(&self) -> Option<&Version> {
        Some(&self.0)
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Get]
    }

    async fn get(&self, call: SubresourceCall<'_>) -> Result<Object> {
        let catalog = catalog(&call).await?;
        let metadata = ObjectMeta { name: catalog.metadata.name.clone(), ..ObjectMeta::default() };
        let mut view = ResourceCatalogEntries { metadata, ..ResourceCatalogEntries::default() };
        let limit = call.page.limit.unwrap_or(PAGE).min(PAGE);
        let mut after = call.page.after.map(str::to_owned);
        let Some(kind) = call.registry.find(call.group_version, "resourcecatalogentries") else {
            return object_of(&view);
        };
        let Some(selection) = selection(&catalog) else { return object_of(&view) };
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
                    return object_of(&view);
                }
            }
            after = list.next;
            if after.is_none() {
                break;
            }
        }
        object_of(&view)
    }
}

async fn catalog(call: &SubresourceCall<'_>) -> Result<ResourceCatalog> {
    let group_version = GroupVersion::new(call.group_version.group.clone(), call.group_version.version.clone());
    let Some(kind) = call.registry.find(&group_version, "resourcecatalogs") else {
        let resource = bailiwick_machinery::GroupResource::new(group_version.group, "resourcecatalogs");
        return Err(crate::error::Error::NotFound { resource, name: call.name.to_owned() });
    };
    let found = call.registry.get(&kind, "", call.name, At::Latest).await.map_err(|_| not_found(&kind, call.name))?;
    typed(&kind.read(&found).map_err(|error| error.about(&kind.resource(), call.name))?)
}

/// The catalog's selector as lists take it; `None` if it selects nothing.
fn selection(catalog: &ResourceCatalog) -> Option<String> {
    let pairs = catalog.spec.selector.as_ref()?.iter().map(|(key, value)| format!("{key}={value}"));
    Some(pairs.collect::<Vec<_>>().join(","))
}
