//! Letting go of an object: it stays, and has one owner less.

use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use serde_json::{Map, Value, json};

use crate::absence::look_up;
use crate::place::in_path;

/// What makes an object somebody's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tie<'t> {
    /// The UID of its owner.
    pub(crate) owner: &'t str,
    /// A label that says the same, and its value.
    pub(crate) label: Option<(&'t str, &'t str)>,
}

/// Takes an owner out of an object, and the label with it, if it has them. Nothing else of it changes. Another object than this
/// very one was made in its place if it has that owner, and is not the one that is meant if it has not.
pub(crate) async fn disown(
    api: &Api<DynamicObject>,
    (name, uid): (&str, &str),
    Tie { owner, label }: Tie<'_>,
    field_manager: &str,
) -> kube::Result<()> {
    let there = look_up(api, name).await?;
    let is_owned = |there: &DynamicObject| there.owner_references().iter().any(|reference| reference.uid == owner);
    let is_meant = |there: &DynamicObject| there.metadata.uid.as_deref() == Some(uid) || is_owned(there);
    let Some(there) = there.filter(is_meant) else { return Ok(()) };
    let mut changes = Map::new();
    let owners = there.metadata.owner_references.clone().unwrap_or_default();
    let others: Vec<_> = owners.iter().filter(|reference| reference.uid != owner).collect();
    if others.len() < owners.len() {
        let others = if others.is_empty() { Value::Null } else { json!(others) };
        changes.insert("ownerReferences".to_owned(), others);
    }
    if let Some((key, value)) = label
        && there.labels().get(key).is_some_and(|found| found == value)
    {
        changes.insert("labels".to_owned(), json!({ key: null }));
    }
    if changes.is_empty() {
        return Ok(());
    }
    changes.insert("uid".to_owned(), json!(there.metadata.uid));
    changes.insert("resourceVersion".to_owned(), json!(there.resource_version()));
    let params = PatchParams { field_manager: Some(field_manager.to_owned()), ..PatchParams::default() };
    api.patch(&in_path(name), &params, &Patch::Merge(json!({ "metadata": changes }))).await.map(|_| ())
}
