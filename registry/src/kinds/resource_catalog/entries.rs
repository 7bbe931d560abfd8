//! `resourcecatalogs/{name}/entries`: all entries of a catalog, part by part; and the same below a LocalResourceCatalog, for those
//! who can claim from it where that is.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::{ResourceCatalog, ResourceCatalogEntries, ResourceCatalogEntry};
use bailiwick_machinery::GroupResource;
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::error::{Error, Result};
use crate::read::{ListRequest, encoded};
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::subresource::{SubresourceCall, View};
use crate::typed::typed;
use crate::virtual_kind::VirtualCall;

/// How many entries are told of at once, if nobody asks for fewer.
const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("1,000 is not zero");
/// How many entries are read at once at least.
const READ: NonZeroUsize = NonZeroUsize::new(100).expect("100 is not zero");
/// How many entries are looked at for one answer. Some are selected and not accepted: anyone can give theirs the labels.
const LOOKED_AT: usize = 10_000;

#[async_trait]
impl View for ResourceCatalogEntries {
    const NAME: &'static str = "entries";

    /// What is in a catalog stands in each entry's own status, so that an entry that changes is one write.
    async fn of(call: SubresourceCall<'_>) -> Result<Self> {
        if !call.namespace.is_empty() {
            check_local(&call).await?;
        }
        let catalog = catalog(&call).await?;
        let namespace = Some(call.namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        let metadata = ObjectMeta { name: catalog.metadata.name.clone(), namespace, ..ObjectMeta::default() };
        let mut view = Self { metadata, ..Self::default() };
        let Some(kind) = call.registry.find(call.group_version, "resourcecatalogentries") else {
            return Ok(view);
        };
        let Some(selection) = selection(&catalog) else { return Ok(view) };
        let selection = Selection::parse(&kind, &selection, "")?;
        let limit = call.page.limit.unwrap_or(PAGE).min(PAGE);
        let mut after = call.page.after.map(str::to_owned);
        let (mut looked_at, mut bytes) = (0, 0);
        loop {
            let request = ListRequest {
                namespace: None,
                selection: &selection,
                at: At::Latest,
                after: after.as_deref(),
                limit: Some(limit.max(READ)),
            };
            let list = call.registry.list(&kind, &request).await?;
            for object in &list.objects {
                let object = kind.read(&encoded(&kind, object)?);
                let object = object.map_err(|error| error.about(&kind.resource(), call.name))?;
                let entry: ResourceCatalogEntry = typed(&object)?;
                looked_at += 1;
                if entry.is_in(call.name) {
                    let info = entry.info();
                    bytes += info.written_bytes();
                    // One is told of in any case, or nobody would get behind it.
                    if bytes > ResourceCatalog::MAX_ENTRY_BYTES && !view.entries.is_empty() {
                        view.continue_ = after;
                        return Ok(view);
                    }
                    view.entries.push(info);
                }
                let metadata = object.metadata();
                after = Some(format!("{}/{}", metadata.namespace(), metadata.name()));
                if view.entries.len() == limit.get() {
                    view.continue_ = after;
                    return Ok(view);
                }
            }
            if list.next.is_none() || looked_at >= LOOKED_AT {
                view.continue_ = list.next;
                return Ok(view);
            }
        }
    }
}

/// Whoever asks can claim from the catalog in this namespace; else they are told that there is none.
async fn check_local(call: &SubresourceCall<'_>) -> Result<()> {
    let absent = || absent(call, "localresourcecatalogs");
    let kind: Arc<ServedKind> = call.registry.find(call.group_version, "localresourcecatalogs").ok_or_else(absent)?;
    let maker = kind.kind().maker().ok_or_else(absent)?;
    let shown = VirtualCall { ctx: call.ctx, registry: call.registry, kind: &kind, namespace: call.namespace };
    shown.get(maker, call.name).await.map(drop)
}

async fn catalog(call: &SubresourceCall<'_>) -> Result<ResourceCatalog> {
    let kind = call.registry.find(call.group_version, "resourcecatalogs");
    let kind = kind.ok_or_else(|| absent(call, "resourcecatalogs"))?;
    let found = call.registry.get(&kind, "", call.name, At::Latest).await?;
    typed(&kind.read(&found).map_err(|error| error.about(&kind.resource(), call.name))?)
}

fn absent(call: &SubresourceCall<'_>, plural: &'static str) -> Error {
    Error::NotFound {
        resource: GroupResource::new(call.group_version.group.clone(), plural),
        name: call.name.to_owned(),
    }
}

/// The catalog's selector as lists take it; `None` if it selects nothing.
fn selection(catalog: &ResourceCatalog) -> Option<String> {
    let pairs = catalog.spec.selector.as_ref()?.iter().map(|(key, value)| format!("{key}={value}"));
    Some(pairs.collect::<Vec<_>>().join(","))
}
