//! Who asked for an object, as whole as they must be to be asked about: with what came with them and is shown to nobody.

use std::collections::BTreeMap;

use bailiwick_api::Requester;
use futures::future::BoxFuture;
use kube::Resource;

use crate::host::Clients;

/// Who knows of requesters what no object says.
pub trait Requesters: Send + Sync + 'static {
    /// What came with who asked for an object, as it is in this version.
    fn extra<'a>(&'a self, object: Asked<'a>)
    -> BoxFuture<'a, Result<BTreeMap<String, Vec<String>>, UnknownRequester>>;
}

/// An object of ours that someone has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The group of its kind.
    pub group: String,
    /// The version of its kind.
    pub version: String,
    /// The plural of its kind.
    pub plural: String,
    /// Its namespace; empty if it has none.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The version in which it was seen.
    pub resource_version: &'a str,
}

/// Why it is not known. The object is looked at again.
#[derive(Debug, thiserror::Error)]
#[error("it is not known what came with who asked for it: {0}")]
pub struct UnknownRequester(pub String);

// === impl Clients ===

impl Clients {
    /// Who asked for an object, by its status, with what came with them.
    pub(crate) async fn whole<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        requester: &Requester,
    ) -> Result<Requester, UnknownRequester> {
        let metadata = object.meta();
        let asked = Asked {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
            resource_version: metadata.resource_version.as_deref().unwrap_or_default(),
        };
        Ok(Requester { extra: Some(self.requesters.extra(asked).await?), ..requester.clone() })
    }
}
