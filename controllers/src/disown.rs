//! Letting go of an object: it stays, and has one owner less.

use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

/// Takes an owner out of an object, if it is this very object and has that owner. Nothing else of it changes.
pub(crate) async fn disown(
    api: &Api<DynamicObject>,
    (name, uid): (&str, &str),
    owner: &str,
    field_manager: &str,
) -> kube::Result<()> {
    let there = api.get_opt(name).await?;
    let Some(there) = there.filter(|there| there.metadata.uid.as_deref() == Some(uid)) else { return Ok(()) };
    let owners = there.metadata.owner_references.clone().unwrap_or_default();
    let others: Vec<_> = owners.iter().filter(|reference| reference.uid != owner).collect();
    if others.len() == owners.len() {
        return Ok(());
    }
    let others = if others.is_empty() { Value::Null } else { json!(others) };
    let metadata = json!({ "uid": uid, "resourceVersion": there.resource_version(), "ownerReferences": others });
    let params = PatchParams { field_manager: Some(field_manager.to_owned()), ..PatchParams::default() };
    api.patch(name, &params, &Patch::Merge(json!({ "metadata": metadata }))).await.map(|_| ())
}
