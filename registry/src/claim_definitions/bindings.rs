//! Definitions of bindings: who writes one must be allowed what the provisioner will do with its kinds.

use bailiwick_api::claims::KindFacts;
use bailiwick_api::{ResourceBindingDefinition, ResourceBindingDefinitionSpec};
use serde::Deserialize;

use super::rights::{self, Needed};
use super::{ClaimDefinitionRules, asks_for_more};
use crate::admission::Proposal;
use crate::context::Ctx;
use crate::error::Result;
use crate::host::HostKind;

/// A kind that a definition names: what is done with it, and where it is named.
struct Use {
    kind: HostKind,
    verbs: &'static [&'static str],
    writes_status: bool,
    field: String,
}

// === impl ClaimDefinitionRules ===

impl ClaimDefinitionRules {
    pub(super) async fn binding_definition(&self, ctx: &Ctx<'_>, proposal: &Proposal<'_>) -> Result<()> {
        let Some(new) = proposal.new.filter(|_| asks_for_more(proposal)) else { return Ok(()) };
        let Ok(definition) = ResourceBindingDefinition::deserialize(new.as_value()) else { return Ok(()) };
        let uses = self.uses(&definition.spec).await?;
        let mut needed = Vec::new();
        for used in &uses {
            let HostKind { group, version, plural, .. } = &used.kind;
            let need = |verb: &'static str, subresource: &'static str| Needed {
                verb,
                group,
                version,
                resource: plural,
                subresource,
                name: "",
                field: used.field.clone(),
            };
            needed.extend(used.verbs.iter().map(|verb| need(verb, "")));
            if used.writes_status {
                needed.push(need("patch", "status"));
            }
        }
        rights::check(&*self.authorizer, ctx, proposal, &needed).await
    }

    /// The kinds that are served. Whether its writer may use the others is asked when they are: until then nothing is done.
    async fn uses(&self, spec: &ResourceBindingDefinitionSpec) -> Result<Vec<Use>> {
        let mut named =
            vec![(&spec.claim.api_version, &spec.claim.kind, KindFacts::CLAIM_VERBS, true, "spec.claim".to_owned())];
        for (index, entry) in spec.resources.iter().enumerate() {
            let field = |part: &str| format!("spec.resources[{index}].{part}");
            let (resource, class) = (&entry.resource, &entry.class);
            named.push((&resource.api_version, &resource.kind, KindFacts::RESOURCE_VERBS, true, field("resource")));
            named.push((&class.api_version, &class.kind, KindFacts::CLASS_VERBS, false, field("class")));
        }
        let mut uses: Vec<Use> = Vec::new();
        for (api_version, kind, verbs, writes_status, field) in named {
            let Some(kind) = self.host.kind(api_version, kind).await? else { continue };
            if !uses.iter().any(|other| other.kind == kind && other.verbs == verbs) {
                uses.push(Use { kind, verbs, writes_status, field });
            }
        }
        Ok(uses)
    }
}
