//! LocalResourceCatalog: what someone can claim in a namespace, made when it is asked for.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::{LocalResourceCatalog, ResourceCatalog, ResourceCatalogEntries};
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{NameRule, Object, Scope};
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::shown::{at, number};
use crate::catalogs::Exposure;
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError};
use crate::read::{ListRequest, encoded, not_found};
use crate::selection::Selection;
use crate::subresource::Viewed;
use crate::typed::{object_of, typed};
use crate::virtual_kind::{Virtual, VirtualCall, VirtualVerb};

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<LocalResourceCatalog>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let kind = kind.short_names(&["lrc"]).columns(columns).made_by(LocalCatalogs { exposure: None });
    Ok(kind.subresource(Viewed::<ResourceCatalogEntries>::new()?))
}

/// The kinds, where this decides what is shown to whom.
pub(super) fn with_exposure(kinds: Vec<Kind>, exposure: &Arc<Exposure>) -> Vec<Kind> {
    let is_it = |kind: &Kind| kind.names().kind == "LocalResourceCatalog";
    let made = |kind: Kind| match is_it(&kind) {
        true => kind.made_by(LocalCatalogs { exposure: Some(exposure.clone()) }),
        false => kind,
    };
    kinds.into_iter().map(made).collect()
}

/// Shows to each what they can claim. Where nobody says who may, nobody is shown anything.
struct LocalCatalogs {
    exposure: Option<Arc<Exposure>>,
}

// === impl LocalCatalogs ===

impl LocalCatalogs {
    /// The catalogs that whoever asks can claim from, of this name if one is given.
    async fn visible(&self, call: VirtualCall<'_>, name: Option<&str>) -> Result<Vec<Object>> {
        let Some(exposure) = &self.exposure else { return Ok(Vec::new()) };
        let Some(kind) = call.registry.find(&call.kind.version().group_version, "resourcecatalogs") else {
            return Ok(Vec::new());
        };
        // This is asked whether or not there is one of that name: otherwise how long the answer takes would tell.
        if let Some(name) = name
            && !exposure.may_claim(call.ctx.user, name, call.namespace).await?
        {
            return Ok(Vec::new());
        }
        let fields = name.map(|name| format!("metadata.name={name}")).unwrap_or_default();
        let selection = Selection::parse(&kind, "", &fields)?;
        let request = ListRequest { namespace: None, selection: &selection, at: At::Latest, after: None, limit: None };
        let list = call.registry.list(&kind, &request).await?;
        let mut views = Vec::new();
        let labels = exposure.namespace_labels(call.namespace).await?;
        for object in &list.objects {
            let object = kind.read(&encoded(&kind, object)?);
            let object = object.map_err(|error| error.about(&kind.resource(), ""))?;
            let catalog: ResourceCatalog = typed(&object)?;
            let is_claimable = labels.as_ref().is_some_and(|labels| catalog.is_claimable_from(labels));
            let may_claim = async |name| exposure.may_claim(call.ctx.user, name, call.namespace).await;
            // Of the one that is asked for it is known.
            if is_claimable && (name.is_some() || may_claim(object.metadata().name()).await?) {
                views.push(object_of(&view(catalog, call.namespace))?);
            }
        }
        Ok(views)
    }
}

#[async_trait]
impl Virtual for LocalCatalogs {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Get, VirtualVerb::List]
    }

    async fn get(&self, call: VirtualCall<'_>, name: &str) -> Result<Object> {
        let found = self.visible(call, Some(name)).await?;
        found.into_iter().next().ok_or_else(|| not_found(call.kind, name))
    }

    async fn list(&self, call: VirtualCall<'_>) -> Result<Vec<Object>> {
        if call.namespace.is_empty() {
            let why = "what can be claimed differs between namespaces: ask for one, with -n NAMESPACE";
            return Err(Error::BadRequest(why.to_owned()));
        }
        self.visible(call, None).await
    }
}

fn view(catalog: ResourceCatalog, namespace: &str) -> LocalResourceCatalog {
    let status = catalog.status.unwrap_or_default();
    LocalResourceCatalog {
        metadata: ObjectMeta {
            name: catalog.metadata.name,
            namespace: Some(namespace.to_owned()),
            uid: catalog.metadata.uid,
            resource_version: catalog.metadata.resource_version,
            creation_timestamp: catalog.metadata.creation_timestamp,
            ..ObjectMeta::default()
        },
        entry_count: status.entry_count.unwrap_or_default(),
        entries: status.entries,
        ..LocalResourceCatalog::default()
    }
}

fn columns() -> Columns {
    Columns::named().with(number("Entries", "How many entries can be claimed."), at("/entryCount")).with_age()
}
