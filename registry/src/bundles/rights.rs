//! What the account that acts must be allowed, asked before anything is done.

use std::collections::BTreeSet;

use bailiwick_api::bundle::Plan;
use bailiwick_api::{Grant, Grantee, ServiceAccountRef};

use super::BundleRules;
use crate::authorization::Resource;
use crate::error::Result;
use crate::host::HostKind;
use crate::named_account::{refused, user_of};
use crate::ruled_write::RuledWrite;

/// What is done to objects of a Bundle. Watching is not needed, only better.
const VERBS: [&str; 4] = ["get", "create", "patch", "delete"];

// === impl BundleRules ===

impl BundleRules {
    /// Refuses a Bundle whose account may not do what would have to be done.
    pub(super) async fn check_rights(
        &self,
        write: RuledWrite<'_>,
        account: &ServiceAccountRef,
        plan: &Plan,
        kinds: &[Option<HostKind>],
    ) -> Result<()> {
        let user = user_of(&*self.memberships, account);
        let (mut missing, mut resources) = (BTreeSet::new(), BTreeSet::new());
        let mut asked: BTreeSet<(&HostKindKey, &str)> = BTreeSet::new();
        let keys: Vec<Option<HostKindKey>> = kinds.iter().map(|kind| kind.as_ref().map(key)).collect();
        for ((resource, kind), known) in plan.resources().iter().zip(kinds).zip(&keys) {
            let (Some(kind), Some(known)) = (kind, known) else { continue };
            let name = resource.object_name().unwrap_or_default();
            for verb in VERBS {
                let target = |name| Resource {
                    group: &kind.group,
                    version: &kind.version,
                    resource: &kind.plural,
                    namespace: write.namespace,
                    name,
                    ..Resource::default()
                };
                // Who may do it to all objects of the kind is asked once.
                if asked.contains(&(known, verb)) {
                    continue;
                }
                if self.authorizer.may(&user, verb, target("")).await? {
                    asked.insert((known, verb));
                } else if verb == "create" || name.is_empty() || !self.authorizer.may(&user, verb, target(name)).await?
                {
                    missing.insert(format!("{verb} {}", kind.resource()));
                    resources.insert(kind.resource().to_string());
                    if missing.len() >= MAX_TOLD {
                        return Err(refusal(write, account, &missing, &resources));
                    }
                }
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(refusal(write, account, &missing, &resources)) }
    }
}

/// How many missing rights are looked for.
const MAX_TOLD: usize = 32;

/// The group and the plural.
type HostKindKey = (String, String);

fn key(kind: &HostKind) -> HostKindKey {
    (kind.group.clone(), kind.plural.clone())
}

fn refusal(
    write: RuledWrite<'_>,
    account: &ServiceAccountRef,
    missing: &BTreeSet<String>,
    resources: &BTreeSet<String>,
) -> crate::Error {
    let (name, namespace) = (account.name(), account.namespace());
    let list = |texts: &BTreeSet<String>, separator: &str| texts.iter().cloned().collect::<Vec<_>>().join(separator);
    let message = format!("the service account \"{name}\" of \"{namespace}\" may not {}", list(missing, ", "));
    let grant = Grant {
        role: &format!("bundle-{}", write.name),
        namespace,
        verbs: "get,list,watch,create,patch,delete",
        resource: &list(resources, ","),
        resource_name: None,
        to: Grantee::Account(account),
    };
    refused(write, "AccountForbidden", message, &grant.to_string())
}
