//! Claims that follow from claims, by way of what those make: a Bundle can contain a claim, and an entry can hold a Bundle. None
//! follows from itself, and there is a bound to how many follow from one another.

use std::collections::{HashSet, VecDeque};

use bailiwick_api::{Bundle, ResourceCatalogClaim};
use bailiwick_machinery::{FieldError, FieldPath, GroupVersion, Object, OwnerReference};
use bailiwick_storage::At;
use k8s_openapi::Resource as _;
use serde_json::Value;

use crate::error::Result;
use crate::registry::Registry;
use crate::ruled_write::RuledWrite;

/// How many claims one may follow from.
const MAX_CLAIMS: usize = 3;
/// How many objects are looked at for that. Owners can be written by anyone, also in circles.
const MAX_OWNERS: usize = 32;

/// Refuses a claim of an entry that was claimed by one that it follows from, and one that follows from too many.
pub(super) async fn check(
    write: RuledWrite<'_>,
    registry: &Registry,
    claim: &Object,
    entry: (&str, &str),
) -> Result<()> {
    let refused = |why: String| {
        let (value, path) = (format!("{}/{}", entry.0, entry.1), FieldPath::new("spec").child("resourceCatalogEntry"));
        Err(write.invalid([FieldError::invalid(path, value, why)]))
    };
    let mut owners: VecDeque<OwnerReference> = claim.metadata().owner_references().collect();
    let (mut seen, mut claims) = (HashSet::new(), 0);
    while let Some(owner) = owners.pop_front() {
        if !seen.insert(owner.uid.clone()) {
            continue;
        }
        if seen.len() > MAX_OWNERS {
            return refused(format!("the claim belongs to more than {MAX_OWNERS} objects, one by the other"));
        }
        let Some(found) = find(registry, write.namespace, &owner).await? else { continue };
        owners.extend(found.metadata().owner_references());
        if owner.kind != ResourceCatalogClaim::KIND {
            continue;
        }
        let field = |name: &str| found.as_value().pointer(&format!("/spec/resourceCatalogEntry/{name}")).cloned();
        let is = |name: &str, value: &str| field(name).as_ref().and_then(Value::as_str) == Some(value);
        claims += 1;
        if is("namespace", entry.0) && is("name", entry.1) {
            return refused(format!(
                "the claim would follow from itself: it belongs to what the claim \"{}\" of the same entry has made",
                owner.name
            ));
        }
        if claims > MAX_CLAIMS {
            return refused(format!("the claim follows from more than {MAX_CLAIMS} others"));
        }
    }
    Ok(())
}

/// An owner, if it is one that claims follow from, and is there.
async fn find(registry: &Registry, namespace: &str, owner: &OwnerReference) -> Result<Option<Object>> {
    let known = [
        (Bundle::API_VERSION, Bundle::KIND, Bundle::URL_PATH_SEGMENT),
        (ResourceCatalogClaim::API_VERSION, ResourceCatalogClaim::KIND, ResourceCatalogClaim::URL_PATH_SEGMENT),
    ];
    let is_it = |known: &&(&str, &str, &str)| (known.0, known.1) == (&*owner.api_version, &*owner.kind);
    let Some((version, _, plural)) = known.iter().find(is_it) else { return Ok(None) };
    let Some((group, version)) = version.split_once('/') else { return Ok(None) };
    let Some(kind) = registry.find(&GroupVersion::new(group, version), plural) else { return Ok(None) };
    // What no object can be called is not there.
    let Ok(key) = kind.key(namespace, &owner.name) else { return Ok(None) };
    let found = registry.current(&kind, &key, At::Latest).await?;
    Ok(found.map(|found| found.object).filter(|object| object.metadata().uid() == owner.uid))
}
