//! The rules of Bundles that concern more than the Bundle: the account that acts, what it may do, and what the host tells of the
//! kinds of the objects. They hold when what a Bundle asks for is written; what changes later is found by its controller.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::bundle::Plan;
use bailiwick_api::{Bundle, BundleSpec};
use bailiwick_machinery::{GroupVersionKind, Object};
use bailiwick_storage::Txn;
use k8s_openapi::Resource as _;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::admission::{Admission, Proposal};
use crate::authorization::Authorizer;
use crate::context::Ctx;
use crate::error::Result;
use crate::host::{Host, HostKind};
use crate::named_account::{check_acting, named, pinned};
use crate::registry::Registry;
use crate::ruled_write::RuledWrite;
use crate::served_kind::ServedKind;

mod fit;
mod rights;

/// The finalizer of what the garbage collector deletes after all that it owns.
const FOREGROUND: &str = "foregroundDeletion";

/// Holds everyone to the rules of Bundles.
pub struct BundleRules {
    /// Who knows the kinds and the service accounts.
    pub host: Arc<dyn Host>,
    /// Who says what users may do.
    pub authorizer: Arc<dyn Authorizer>,
}

// === impl BundleRules ===

#[async_trait]
impl Admission for BundleRules {
    async fn prepare(
        &self,
        ctx: &Ctx<'_>,
        _registry: &Registry,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        if !kind.kind().stored_gvk().as_ref().is_some_and(is_bundle) {
            return Ok(());
        }
        let is_going = object.metadata().deletion_timestamp().is_some();
        if !is_going && old.is_none() {
            keep_until_clean(object);
        }
        let asked = |object: &Object| object.fields().get("spec").cloned().unwrap_or_default();
        let spec = asked(object);
        if old.is_some_and(|old| asked(old) == spec) {
            return Ok(());
        }
        let (namespace, name) = (object.metadata().namespace().to_owned(), object.metadata().name().to_owned());
        // What is wrong with the Bundle itself is told when it is validated.
        let Ok(spec) = BundleSpec::deserialize(&spec) else { return Ok(()) };
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

    async fn admit(&self, ctx: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let is_bundle = proposal.kind.kind().stored_gvk().as_ref().is_some_and(is_bundle);
        let collected = |object: &Object| object.metadata().finalizers().any(|finalizer| finalizer == FOREGROUND);
        let (Some(old), Some(new)) = (proposal.old, proposal.new) else { return Ok(txn) };
        if !is_bundle || collected(old) || !collected(new) || !has_lifecycles(new) {
            return Ok(txn);
        }
        let write = RuledWrite { ctx, kind: proposal.kind, namespace: proposal.namespace(), name: proposal.name() };
        let why = "resources with another lifecycle than Delete would not survive a deletion in the foreground, which the garbage \
                   collector carries out; delete the Bundle in the background, as kubectl does by default";
        Err(write.forbidden(why.to_owned(), Vec::new()))
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

fn is_bundle(stored: &GroupVersionKind) -> bool {
    (&*stored.group, &*stored.kind) == (Bundle::GROUP, Bundle::KIND)
}

/// Whether something of a Bundle is not simply deleted with it: of what it wants, or has.
fn has_lifecycles(bundle: &Object) -> bool {
    let of = |pointer: &str| bundle.as_value().pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = of("/spec/resources").into_iter().chain(of("/status/inventory"));
    all.any(|one| one.get("lifecycle").is_some_and(|lifecycle| lifecycle != "Delete"))
}

/// Keeps a Bundle from going before what it created is gone. There from the beginning, so that nothing is created without it.
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
