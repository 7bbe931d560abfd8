//! Definitions of claims and of what satisfies them: who may write them, and what they must not collide with.
//!
//! A definition makes the server's controllers do things that its writer could not do through them otherwise. So who writes
//! one must be allowed to do it themselves: the CustomResourceDefinition that a definition of claims becomes, and whatever the
//! provisioner will do with the kinds of a definition of bindings.

mod bindings;
mod claims;
mod provisioner;
mod rights;

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::{BINDING_DEFINITION_FINALIZER, CLAIM_DEFINITION_FINALIZER};
use bailiwick_machinery::Object;
use bailiwick_storage::Txn;

use crate::admission::{Admission, Completion, Proposal};
use crate::authorization::Authorizer;
use crate::context::Ctx;
use crate::error::Result;
use crate::host::Host;
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::Part;

pub use provisioner::{ProvisionerMay, make_provisioner};

/// The group of definitions.
const GROUP: &str = "claim.bailiwick.dev";
const CLAIM_DEFINITION: &str = "ResourceClaimDefinition";
const BINDING_DEFINITION: &str = "ResourceBindingDefinition";

/// Holds everyone to the rules of definitions.
pub struct ClaimDefinitionRules {
    /// Who says what users may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// Where the kinds are, or will be, that definitions speak of.
    pub host: Arc<dyn Host>,
}

// === impl ClaimDefinitionRules ===

#[async_trait]
impl Admission for ClaimDefinitionRules {
    fn completion(&self, kind: &ServedKind) -> Option<&dyn Completion> {
        which(kind).is_some().then_some(self)
    }

    async fn admit(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        if proposal.part == Part::Main {
            match which(proposal.kind) {
                Some(CLAIM_DEFINITION) => self.claim_definition(ctx, registry, proposal).await?,
                Some(BINDING_DEFINITION) => self.binding_definition(ctx, proposal).await?,
                _ => {}
            }
        }
        Ok(txn)
    }
}

#[async_trait]
impl Completion for ClaimDefinitionRules {
    /// A definition stays until its controller has looked after what depends on it.
    async fn complete(
        &self,
        _: &Ctx<'_>,
        _: &Registry,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let finalizer = match which(kind) {
            Some(CLAIM_DEFINITION) => CLAIM_DEFINITION_FINALIZER,
            Some(BINDING_DEFINITION) => BINDING_DEFINITION_FINALIZER,
            _ => return Ok(()),
        };
        let has = |object: &Object| object.metadata().finalizers().any(|other| other == finalizer);
        let is_going = old.is_some_and(|old| old.metadata().deletion_timestamp().is_some());
        if !is_going && !has(object) {
            let mut finalizers: Vec<String> = object.metadata().finalizers().map(str::to_owned).collect();
            finalizers.push(finalizer.to_owned());
            object.set_finalizers(&finalizers);
        }
        Ok(())
    }
}

/// Which of the definitions a kind is, if any.
fn which(kind: &ServedKind) -> Option<&'static str> {
    let (group, kind) = kind.kind().home()?;
    let known = [CLAIM_DEFINITION, BINDING_DEFINITION].into_iter().find(|known| *known == kind)?;
    (group == GROUP).then_some(known)
}

/// Whether what is asked for changes.
fn asks_for_more(proposal: &Proposal<'_>) -> bool {
    let spec = |object: Option<&Object>| object.and_then(|object| object.fields().get("spec").cloned());
    proposal.new.is_some() && spec(proposal.old) != spec(proposal.new)
}

/// Whether it is about to go, and was not before.
fn begins_to_go(proposal: &Proposal<'_>) -> bool {
    let is_going = |object: &Object| object.metadata().deletion_timestamp().is_some();
    proposal.old.is_some_and(|old| !is_going(old)) && proposal.new.is_none_or(is_going)
}
