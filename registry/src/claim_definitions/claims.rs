//! Definitions of claims: who may write the CustomResourceDefinition that one becomes, and which names are free.

use std::sync::Arc;

use bailiwick_api::{DEFINITION_UID_ANNOTATION, ResourceClaimDefinition, ResourceClaimDefinitionSpec};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use bailiwick_storage::cache::Object as CachedObject;
use serde::Deserialize;

use super::rights::{self, Needed};
use super::{ClaimDefinitionRules, asks_for_more, begins_to_go};
use crate::admission::Proposal;
use crate::context::Ctx;
use crate::definitions::{GROUP as CRD_GROUP, PLURAL as CRDS, VERSION as CRD_VERSION};
use crate::error::{Error, Result};
use crate::host::HostKind;
use crate::read::ListRequest;
use crate::registry::Registry;
use crate::selection::Selection;

// === impl ClaimDefinitionRules ===

impl ClaimDefinitionRules {
    pub(super) async fn claim_definition(
        &self,
        ctx: &Ctx<'_>,
        registry: &Registry,
        proposal: &Proposal<'_>,
    ) -> Result<()> {
        let (verb, object) = match (proposal.old, proposal.new) {
            (None, Some(new)) => ("create", new),
            (Some(old), _) if begins_to_go(proposal) => ("delete", old),
            (Some(_), Some(new)) if asks_for_more(proposal) => ("update", new),
            _ => return Ok(()),
        };
        let Ok(definition) = ResourceClaimDefinition::deserialize(object.as_value()) else { return Ok(()) };
        let name = definition.spec.custom_resource_definition();
        let needed = Needed {
            verb,
            group: CRD_GROUP,
            version: CRD_VERSION,
            resource: CRDS,
            subresource: "",
            // Nobody can be allowed to make what is called so only.
            name: if verb == "create" { "" } else { &name },
            field: "spec".to_owned(),
        };
        rights::check(&*self.authorizer, ctx, proposal, &[needed]).await?;
        if verb == "create" {
            let mut errors = FieldErrors::default();
            self.check_group(registry, &definition.spec, &mut errors).await?;
            self.check_names(registry, proposal, &definition, &mut errors).await?;
            if !errors.is_empty() {
                let kind = proposal.kind.group_kind();
                return Err(Error::Invalid { kind, name: proposal.name().to_owned(), errors });
            }
        }
        Ok(())
    }

    /// Nobody defines claims in a group that means something else.
    async fn check_group(
        &self,
        registry: &Registry,
        spec: &ResourceClaimDefinitionSpec,
        errors: &mut FieldErrors,
    ) -> Result<()> {
        let path = FieldPath::new("spec").child("group");
        let group = spec.group.as_str();
        if registry.serves_natively(group) || group.ends_with(".bailiwick.dev") {
            errors.push(FieldError::invalid(path, group, "is served by this server itself"));
            return Ok(());
        }
        let Some(services) = self.host.kind("apiregistration.k8s.io/v1", "APIService").await? else { return Ok(()) };
        let name = format!("{}.{group}", spec.version);
        let found = self.host.get_own(&services, "", &name).await?;
        let is_elsewhere = found
            .is_some_and(|found| found.as_value().pointer("/spec/service").is_some_and(|service| !service.is_null()));
        if is_elsewhere {
            errors.push(FieldError::invalid(
                path,
                group,
                format!("is served by another server, as the APIService {name}"),
            ));
        }
        Ok(())
    }

    /// A kind is served once.
    async fn check_names(
        &self,
        registry: &Registry,
        proposal: &Proposal<'_>,
        definition: &ResourceClaimDefinition,
        errors: &mut FieldErrors,
    ) -> Result<()> {
        let spec = &definition.spec;
        let names = FieldPath::new("spec").child("names");
        let name = spec.custom_resource_definition();
        let others = other_definitions(registry, proposal).await?;
        let clashing = others.iter().find(|other| {
            let other = &other.spec;
            other.group == spec.group
                && (other.names.plural == spec.names.plural || other.names.kind == spec.names.kind)
        });
        if let Some(other) = clashing {
            let other = other.metadata.name.as_deref().unwrap_or_default();
            let why = format!("the ResourceClaimDefinition \"{other}\" defines the same kind");
            errors.push(FieldError::invalid(names.child("kind"), spec.names.kind.as_str(), why));
            return Ok(());
        }
        let definitions = custom_resource_definitions();
        if let Some(found) = self.host.get_own(&definitions, "", &name).await? {
            let of = found.metadata().annotation(DEFINITION_UID_ANNOTATION).unwrap_or_default();
            if of.is_empty() || Some(of) != definition.metadata.uid.as_deref() {
                let why = format!("there is a CustomResourceDefinition \"{name}\" that was not made for this");
                errors.push(FieldError::invalid(names.child("plural"), spec.names.plural.as_str(), why));
            }
            return Ok(());
        }
        if let Some(served) = self.host.kind(&spec.api_version(), &spec.names.kind).await? {
            let why = format!("{} of this kind are served already", served.resource());
            errors.push(FieldError::invalid(names.child("kind"), spec.names.kind.as_str(), why));
        }
        Ok(())
    }
}

/// The definitions of claims that there are beside this one.
async fn other_definitions(registry: &Registry, proposal: &Proposal<'_>) -> Result<Vec<ResourceClaimDefinition>> {
    let kind = proposal.kind;
    let selection = Selection::everything(kind);
    let request = ListRequest { namespace: None, selection: &selection, at: proposal.at, after: None, limit: None };
    let list = registry.list(kind, &request).await?;
    let read = |object: &Arc<CachedObject>| {
        let encoded = crate::read::encoded(kind, object).ok()?;
        let object: Object = kind.read(&encoded).ok()?;
        ResourceClaimDefinition::deserialize(object.as_value()).ok()
    };
    let is_other = |other: &ResourceClaimDefinition| other.metadata.name.as_deref() != Some(proposal.name());
    Ok(list.objects.iter().filter_map(read).filter(is_other).collect())
}

fn custom_resource_definitions() -> HostKind {
    HostKind {
        group: CRD_GROUP.to_owned(),
        version: CRD_VERSION.to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: CRDS.to_owned(),
        namespaced: false,
        verbs: vec!["get".to_owned()],
    }
}
