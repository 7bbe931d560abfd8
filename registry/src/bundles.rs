//! The rules of Bundles that concern more than the Bundle: the account that acts, what it may do, and what the host tells of the
//! kinds of the objects. They hold when what a Bundle asks for is written; what changes later is found by its controller.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::bundle::Plan;
use bailiwick_api::{Bundle, BundleSpec};
use bailiwick_machinery::Object;
use bailiwick_machinery::metadata::FINALIZER_FOREGROUND;
use bailiwick_storage::Txn;
use k8s_openapi::Resource as _;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::admission::{Admission, Completion, Proposal};
use crate::authorization::Authorizer;
use crate::context::Ctx;
use crate::error::Result;
use crate::host::{Host, HostKind};
use crate::named_account::{check_acting, named, pinned};
use crate::organizations::Memberships;
use crate::registry::Registry;
use crate::ruled_write::RuledWrite;
use crate::served_kind::ServedKind;

mod apply_set;
mod fit;
mod rights;
mod room;

/// Holds everyone to the rules of Bundles.
pub struct BundleRules {
    /// Who knows the kinds and the service accounts.
    pub host: Arc<dyn Host>,
    /// Who says what users may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// Who knows in which groups the accounts are.
    pub memberships: Arc<dyn Memberships>,
}

// === impl BundleRules ===

#[async_trait]
impl Admission for BundleRules {
    fn completion(&self, kind: &ServedKind) -> Option<&dyn Completion> {
        is_bundle(kind).then_some(self)
    }

    async fn admit(&self, ctx: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let collected =
            |object: &Object| object.metadata().finalizers().any(|finalizer| finalizer == FINALIZER_FOREGROUND);
        let write = RuledWrite { ctx, kind: proposal.kind, namespace: proposal.namespace(), name: proposal.name() };
        if let Some(new) = proposal.new.filter(|_| is_bundle(proposal.kind)) {
            room::check(write, proposal.old, new)?;
        }
        let (Some(old), Some(new)) = (proposal.old, proposal.new) else { return Ok(txn) };
        if !is_bundle(proposal.kind) || collected(old) || !collected(new) {
            return Ok(txn);
        }
        let why = "the finalizer foregroundDeletion leaves its objects to the garbage collector, which knows neither in which \
                   order they go nor which of them stay; delete the Bundle instead: it stays until they are gone";
        Err(write.forbidden(why.to_owned(), Vec::new()))
    }
}

#[async_trait]
impl Completion for BundleRules {
    async fn complete(
        &self,
        ctx: &Ctx<'_>,
        _: &Registry,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let is_going = object.metadata().deletion_timestamp().is_some();
        if !is_going {
            keep_until_clean(object);
        }
        // What is wrong with the Bundle itself is told when it is validated.
        let Some(spec) = spec_of(object) else { return Ok(()) };
        apply_set::mark(object, &spec);
        if old.is_some_and(|old| asks_the_same(old, object)) {
            return Ok(());
        }
        let (namespace, name) = (object.metadata().namespace().to_owned(), object.metadata().name().to_owned());
        let Ok(plan) = Plan::of(&spec, &namespace) else { return Ok(()) };
        let write = RuledWrite { ctx, kind, namespace: &namespace, name: &name };
        let account = named(&*self.authorizer, write, spec.service_account_name()).await?;
        let pinned = pinned(&*self.host, write, &account).await?;
        check_acting(&*self.host, write, &account).await?;
        // Of a Bundle that goes only who acts for it still matters.
        if is_going {
            pin(object, &pinned.uid);
            return Ok(());
        }
        let kinds = self.kinds(&plan).await?;
        write.check(fit::check_scope(&plan, &kinds))?;
        write.check(self.check_fit(&plan, &kinds).await?)?;
        self.check_rights(write, &account, &plan, &kinds).await?;
        pin(object, &pinned.uid);
        Ok(())
    }
}

impl BundleRules {
    /// The kinds of a plan's resources. Those that are not served are waited for later.
    async fn kinds(&self, plan: &Plan) -> Result<Vec<Option<HostKind>>> {
        let mut kinds: Vec<Option<HostKind>> = Vec::new();
        for (place, resource) in plan.resources().iter().enumerate() {
            let is_same = |other: &&bailiwick_api::bundle::PlannedResource| {
                (&other.api_version, &other.kind) == (&resource.api_version, &resource.kind)
            };
            let known = plan.resources().iter().take(place).position(|other| is_same(&other));
            let found = match known.and_then(|known| kinds.get(known)) {
                Some(found) => found.clone(),
                None => self.host.kind(&resource.api_version, &resource.kind).await?,
            };
            kinds.push(found);
        }
        Ok(kinds)
    }
}

/// What a Bundle wants; nothing if that is not of the form it should have. Without a spec it wants no resources.
pub(crate) fn spec_of(bundle: &Object) -> Option<BundleSpec> {
    match bundle.fields().get("spec") {
        None | Some(Value::Null) => Some(BundleSpec::default()),
        Some(spec) => BundleSpec::deserialize(spec).ok(),
    }
}

/// Whether two Bundles want the same.
fn asks_the_same(old: &Object, new: &Object) -> bool {
    let asked = |object: &Object| object.fields().get("spec").cloned().unwrap_or_default();
    asked(old) == asked(new)
}

fn is_bundle(kind: &ServedKind) -> bool {
    kind.kind().home() == Some((Bundle::GROUP, Bundle::KIND))
}

/// Keeps a Bundle from going before what it created is gone. There from the beginning, so that nothing is created without it, and
/// until it is deleted: who writes it anew as they know it does not take that away.
fn keep_until_clean(object: &mut Object) {
    let finalizers = object.metadata_mut().entry("finalizers").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|finalizer| finalizer == Bundle::FINALIZER)
    {
        finalizers.push(Bundle::FINALIZER.into());
    }
}

/// Says which account acts: another one of its name is another.
fn pin(object: &mut Object, uid: &str) {
    let status = object.fields_mut().entry("status").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(status) = status {
        status.insert("serviceAccountUID".to_owned(), uid.into());
    }
}
