//! The provisioner on a server that is a host of its own: its account, and what it may do there.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use bailiwick_api::{PROVISIONER, PROVISIONER_NAMESPACE, ServiceAccountRef};
use bailiwick_machinery::{GroupVersion, Object};
use serde_json::{Map, json};

use crate::authorization::{Attributes, AuthorizationError, Authorizer, Decision, Target};
use crate::error::Result;
use crate::own_writes::create;
use crate::registry::Registry;

/// Allows the provisioner to handle objects of every kind that is defined by data. What else it may do, its roles say.
#[derive(Clone, Default)]
pub struct ProvisionerMay(Arc<OnceLock<Weak<Registry>>>);

/// Makes the provisioner's account, if it is missing.
pub async fn make_provisioner(registry: &Registry) -> Result<()> {
    let Some(kind) = registry.find(&GroupVersion::new("", "v1"), "serviceaccounts") else { return Ok(()) };
    let metadata = json!({ "name": PROVISIONER, "namespace": PROVISIONER_NAMESPACE });
    create(registry, &kind, Object::new(Map::from_iter([("metadata".to_owned(), metadata)]))).await
}

// === impl ProvisionerMay ===

impl ProvisionerMay {
    /// From now on the kinds are those of this registry.
    pub fn look_in(&self, registry: &Arc<Registry>) {
        // There is one registry, and whoever makes it says so once.
        let _ = self.0.set(Arc::downgrade(registry));
    }
}

#[async_trait]
impl Authorizer for ProvisionerMay {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let no_opinion = Ok(Decision::NoOpinion(String::new()));
        let Target::Resource(target) = &question.target else { return no_opinion };
        let is_provisioner = ServiceAccountRef::new(PROVISIONER_NAMESPACE, PROVISIONER)
            .is_ok_and(|account| account.username() == question.user.name);
        let Some(registry) = self.0.get().and_then(Weak::upgrade).filter(|_| is_provisioner) else { return no_opinion };
        let version = GroupVersion::new(target.group.to_owned(), target.version.to_owned());
        let found = registry.find(&version, target.resource);
        // Neither webhooks nor anything else is reached through an object but its status.
        let is_whole = matches!(target.subresource, "" | "status");
        if is_whole && found.is_some_and(|found| found.kind().is_defined()) {
            return Ok(Decision::Allow("the provisioner handles what is defined by data".to_owned()));
        }
        no_opinion
    }
}
