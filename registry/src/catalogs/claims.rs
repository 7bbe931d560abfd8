//! Who may write a claim, and for which entry.

use bailiwick_api::{DeletionPolicy, ResourceCatalog, ResourceCatalogClaim, ResourceCatalogEntry};
use bailiwick_machinery::{Cause, FieldError, FieldPath, GroupVersion, Object};
use bailiwick_storage::At;
use k8s_openapi::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{CatalogRules, GROUP, VERSION, ancestry};
use crate::error::Result;
use crate::named_account::named;
use crate::registry::Registry;
use crate::ruled_write::RuledWrite;
use crate::typed::typed;
use crate::update::Part;

// === impl CatalogRules ===

impl CatalogRules {
    /// Whoever writes what a claim asks for may claim from the catalog in this namespace, and act as the account; and the
    /// entry is in that catalog.
    pub(super) async fn prepare_claim(
        &self,
        write: RuledWrite<'_>,
        registry: &Registry,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        keep_uid(object, old);
        keep_finalizer(object);
        if old.is_some_and(|old| old.fields().get("spec") == object.fields().get("spec")) {
            return Ok(());
        }
        let claim: ResourceCatalogClaim = write.read(object)?;
        if let Some(old) = old {
            // What cannot be changed is told as such, and not as something that is not there.
            write.kind.validate_update(Part::Main, object, old)?;
        }
        let account = named(self.exposure.authorizer(), write, claim.spec.account());
        if old.is_some_and(|old| asks_for_less(object, old)) {
            return account.await.map(|_| ());
        }
        let catalog = self.claimable(write, registry, &claim).await?;
        let entry = self.entry_of(write, registry, &claim, &catalog).await?;
        let reference = &claim.spec.resource_catalog_entry;
        ancestry::check(write, registry, object, (&reference.namespace, &reference.name)).await?;
        let uid = entry.metadata.uid.unwrap_or_default();
        match &claim.spec.resource_catalog_entry.uid {
            Some(wanted) if *wanted != uid => {
                return Err(write.conflict(format!(
                    "the entry \"{}/{}\" is not the one with the UID \"{wanted}\": it has been made anew since; claim it by its \
                     UID now, \"{uid}\"",
                    reference.namespace, reference.name
                )));
            }
            Some(_) => {}
            None => object.edit_as_value(|value| value["spec"]["resourceCatalogEntry"]["uid"] = json!(uid)),
        }
        account.await.map(|_| ())
    }

    /// The catalog, if whoever writes may claim from it here. Whoever may not is not told whether there is one.
    async fn claimable(
        &self,
        write: RuledWrite<'_>,
        registry: &Registry,
        claim: &ResourceCatalogClaim,
    ) -> Result<ResourceCatalog> {
        let (name, namespace) = (&claim.spec.catalog_name, write.namespace);
        let path = FieldPath::new("spec").child("catalogName");
        let forbidden = |reason: &str, message: String, remedy: String| {
            let cause = Cause { reason: reason.to_owned(), message: message.clone(), field: path.as_str().to_owned() };
            write.forbidden(format!("{message}; {remedy}"), vec![cause])
        };
        if !self.exposure.may_claim(write.ctx.user, name, namespace).await? {
            let user = &write.ctx.user.name;
            return Err(forbidden(
                "ClaimForbidden",
                format!(
                    "user \"{user}\" may not \"claim\" resourcecatalogs.{GROUP} \"{name}\" in the namespace \"{namespace}\""
                ),
                ResourceCatalog::how_to_allow(ResourceCatalog::CLAIM, name, namespace, user),
            ));
        }
        let Some(catalog) = find::<ResourceCatalog>(registry, "resourcecatalogs", "", name).await? else {
            return Err(write.invalid([FieldError::not_found(path, name.as_str())]));
        };
        let labels = self.exposure.namespace_labels(namespace).await?;
        // Where there is no namespace nothing is made: that is told by whoever looks after namespaces.
        if labels.is_some_and(|labels| !catalog.is_claimable_from(&labels)) {
            return Err(forbidden(
                "NotExposed",
                format!("the catalog \"{name}\" cannot be claimed from in the namespace \"{namespace}\""),
                "its claimableFrom does not select the namespace: ask a cluster administrator".to_owned(),
            ));
        }
        Ok(catalog)
    }

    /// The entry, if it is in the catalog. One that is not there and one that is not to be seen are told of in the same words.
    async fn entry_of(
        &self,
        write: RuledWrite<'_>,
        registry: &Registry,
        claim: &ResourceCatalogClaim,
        catalog: &ResourceCatalog,
    ) -> Result<ResourceCatalogEntry> {
        let reference = &claim.spec.resource_catalog_entry;
        let found: Option<ResourceCatalogEntry> =
            find(registry, "resourcecatalogentries", &reference.namespace, &reference.name).await?;
        if let Some(entry) = found
            && self.exposure.contains(registry, catalog, &entry).await?
        {
            return Ok(entry);
        }
        let path = FieldPath::new("spec").child("resourceCatalogEntry");
        let value = format!("{}/{}", reference.namespace, reference.name);
        let (catalog, here) = (&claim.spec.catalog_name, write.namespace);
        let why = format!(
            "is no entry of the catalog \"{catalog}\"; those there are: kubectl get localresourcecatalogs {catalog} -n {here} -o yaml"
        );
        Err(write.invalid([FieldError::invalid(path, value, why)]))
    }
}

/// Whoever does not say which entry they mean, means the one that they have meant before.
fn keep_uid(object: &mut Object, old: Option<&Object>) {
    let pointer = "/spec/resourceCatalogEntry/uid";
    let Some(uid) = old.and_then(|old| old.as_value().pointer(pointer)).cloned() else { return };
    let is_absent = object.as_value().pointer(pointer).is_none_or(Value::is_null);
    let reference = object.as_value().pointer("/spec/resourceCatalogEntry");
    if is_absent && reference.is_some_and(Value::is_object) {
        object.edit_as_value(|value| value["spec"]["resourceCatalogEntry"]["uid"] = uid);
    }
}

/// Whether a claim asks for nothing that it did not ask for before: it does not follow any more, or what it has made has another
/// end. That is for whoever has it to say, also when its entry is not to be had any more.
fn asks_for_less(object: &Object, old: &Object) -> bool {
    let spec = |object: &Object| {
        let mut spec = object.fields().get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        let follows = spec.remove("keepSynchronized") == Some(Value::Bool(true));
        spec.remove("deletionPolicy");
        (spec, follows)
    };
    let ((new, follows), (old, followed)) = (spec(object), spec(old));
    new == old && (!follows || followed)
}

/// A claim whose resources are to stay does not go before they have been let go.
fn keep_finalizer(object: &mut Object) {
    let orphans = object.as_value().pointer("/spec/deletionPolicy") == Some(&json!(DeletionPolicy::Orphan));
    let mut finalizers: Vec<String> = object.metadata().finalizers().map(str::to_owned).collect();
    let has = finalizers.iter().any(|finalizer| finalizer == ResourceCatalogClaim::ORPHAN_FINALIZER);
    // Who removes it from a claim that is to go knows why.
    if object.metadata().deletion_timestamp().is_some() || orphans == has {
        return;
    }
    match orphans {
        true => finalizers.push(ResourceCatalogClaim::ORPHAN_FINALIZER.to_owned()),
        false => finalizers.retain(|finalizer| finalizer != ResourceCatalogClaim::ORPHAN_FINALIZER),
    }
    object.set_finalizers(&finalizers);
}

/// An object of ours, if it is there.
async fn find<T: Resource + DeserializeOwned>(
    registry: &Registry,
    plural: &str,
    namespace: &str,
    name: &str,
) -> Result<Option<T>> {
    let Some(kind) = registry.find(&GroupVersion::new(GROUP, VERSION), plural) else { return Ok(None) };
    // What no object can be called is not there.
    let Ok(key) = kind.key(namespace, name) else { return Ok(None) };
    let found = registry.current(&kind, &key, At::Latest).await?;
    found.map(|found| typed(&found.object)).transpose()
}
