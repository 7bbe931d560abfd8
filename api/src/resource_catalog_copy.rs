//! What a claim makes of a resource: the same content, in its own namespace, under its own name.

use serde_json::{Map, Value, json};

use crate::resource_catalog_claim::ResourceCatalogClaim;
use crate::string_data::fold_string_data;
use crate::well_known::DERIVED_LABEL;

/// The annotation of what a claim made: the claim's UID.
pub const CLAIM_UID_ANNOTATION: &str = "catalog.bailiwick.dev/claim-uid";
/// The annotation of what a claim made: the UID of what it is a copy of, or of the entry whose list it was in.
pub const SOURCE_UID_ANNOTATION: &str = "catalog.bailiwick.dev/source-uid";

/// The longest name that an object can have.
const MAX_NAME: usize = 253;
/// What of an object's metadata is its own. The rest belongs to the one object, or to the server it is on.
const COPIED_METADATA: [&str; 2] = ["annotations", "labels"];
/// Annotations that are about the one object. Kubernetes' own controllers write most of them, and would write them again for ever.
const OWN_ANNOTATIONS: [&str; 14] = [
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "batch.kubernetes.io/job-tracking",
    "control-plane.alpha.kubernetes.io/leader",
    "deprecated.daemonset.template.generation",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "endpoints.kubernetes.io/over-capacity",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    "volume.beta.kubernetes.io/storage-provisioner",
    CLAIM_UID_ANNOTATION,
    SOURCE_UID_ANNOTATION,
];
/// What all annotations begin with that controllers write of Deployments and of volumes.
const OWN_PREFIXES: [&str; 3] = ["deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/"];
/// Secrets of this type are credentials of one account, and never leave it.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// Why there is no copy of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyError {
    /// The name would be too long.
    NameTooLong(String),
    /// It is a credential of a service account.
    AccountToken,
}

/// What a claim makes of a resource that has this UID, or that stands in the list of an entry that has it.
pub fn copy_for(
    claim: &ResourceCatalogClaim,
    source: &Map<String, Value>,
    source_uid: &str,
) -> Result<Map<String, Value>, CopyError> {
    let text = |field: &str| source.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("kind") == "Secret" && text("type") == TOKEN {
        return Err(CopyError::AccountToken);
    }
    let mut copy = source.clone();
    copy.remove("status");
    fold_string_data(&mut copy);
    let old = source.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    copy.insert("metadata".to_owned(), Value::Object(metadata(claim, &old, source_uid)?));
    Ok(copy)
}

fn metadata(
    claim: &ResourceCatalogClaim,
    old: &Map<String, Value>,
    source_uid: &str,
) -> Result<Map<String, Value>, CopyError> {
    let mut new: Map<String, Value> = old.clone();
    new.retain(|field, _| COPIED_METADATA.contains(&field.as_str()));
    let prefix = claim.spec.name_prefix.as_deref().unwrap_or_default();
    let name = format!("{prefix}{}", old.get("name").and_then(Value::as_str).unwrap_or_default());
    if name.len() > MAX_NAME {
        return Err(CopyError::NameTooLong(name));
    }
    new.insert("name".to_owned(), name.into());
    new.insert("namespace".to_owned(), claim.metadata.namespace.clone().unwrap_or_default().into());
    let labels = claim.spec.additional_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    set(&mut new, "labels", |_| false, labels.chain([(DERIVED_LABEL, "resourcecatalogclaims")]));
    let uid = claim.metadata.uid.as_deref().unwrap_or_default();
    let provenance = [(CLAIM_UID_ANNOTATION, uid), (SOURCE_UID_ANNOTATION, source_uid)];
    set(&mut new, "annotations", is_own_annotation, provenance);
    let owner = json!([{
        "apiVersion": <ResourceCatalogClaim as k8s_openapi::Resource>::API_VERSION,
        "kind": <ResourceCatalogClaim as k8s_openapi::Resource>::KIND,
        "name": claim.metadata.name,
        "uid": uid,
        "controller": true,
    }]);
    new.insert("ownerReferences".to_owned(), owner);
    Ok(new)
}

fn is_own_annotation(key: &str) -> bool {
    OWN_ANNOTATIONS.contains(&key) || OWN_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Sets some texts of a map, and takes others out of it.
fn set<'t>(
    metadata: &mut Map<String, Value>,
    field: &str,
    is_left_out: fn(&str) -> bool,
    with: impl IntoIterator<Item = (&'t str, &'t str)>,
) {
    let mut texts = metadata.remove(field).and_then(|texts| texts.as_object().cloned()).unwrap_or_default();
    texts.retain(|key, _| !is_left_out(key));
    texts.extend(with.into_iter().map(|(key, value)| (key.to_owned(), value.into())));
    metadata.insert(field.to_owned(), Value::Object(texts));
}

#[cfg(test)]
mod tests;
