//! What came with who wrote our own kinds: known to the registry, told to controllers, and to nobody else.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use bailiwick_apiserver::Server;
use bailiwick_controllers::{Asked, Requesters, UnknownRequester};
use bailiwick_machinery::GroupVersion;

/// Those whom a server knows.
pub(crate) struct OwnRequesters(pub(crate) Arc<Server>);

/// What is known, once it is.
type Known<'a> = Pin<Box<dyn Future<Output = Result<BTreeMap<String, Vec<String>>, UnknownRequester>> + Send + 'a>>;

// === impl OwnRequesters ===

impl Requesters for OwnRequesters {
    fn extra<'a>(&'a self, object: Asked<'a>) -> Known<'a> {
        Box::pin(async move {
            let Asked { group, version, plural, namespace, name, resource_version } = object;
            let registry = self.0.registry();
            let kind = registry.find(&GroupVersion::new(group, version), &plural);
            let kind = kind.ok_or_else(|| UnknownRequester(format!("{plural} are not served")))?;
            let seen =
                resource_version.parse().map_err(|_| UnknownRequester("no version of it was seen".to_owned()))?;
            let extra = registry.requester_extra(&kind, namespace, name, seen).await;
            extra.map_err(|error| UnknownRequester(error.to_string()))
        })
    }
}
