//! A look at a Bundle, from beginning to end.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bailiwick_api::bundle::{Plan, apply_set_id};
use bailiwick_api::{Bundle, BundleStatus, ConditionStatus, InventoryItem, Lifecycle, ServiceAccountRef};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::clean_up::Occasion;
use super::hands::Hands;
use super::observed::{Memory, Planned};
use super::outcome::Retry;
use super::pass::Pass;
use super::resource::Site;
use super::told::{self, PRUNING_COMPLETE, READY};
use super::update_loop::Corrections;
use super::{FIELD_MANAGER, FROM_TIME_TO_TIME, Shared, WorkError};
use crate::absence::{look_up, look_up_metadata};
use crate::conditions::Verdict;
use crate::place::Place;

/// Why nobody can act for a Bundle.
struct NoAccount {
    reason: &'static str,
    message: String,
}

// === impl Shared ===

impl Shared {
    /// Looks at a Bundle.
    pub(super) async fn look_at(self: &Arc<Self>, place: &Place) -> Result<(), WorkError> {
        let found = self.bundles().get(place).cloned();
        let Some(bundle) = found else {
            self.memories().remove(place);
            self.watches.forget(place);
            return Ok(());
        };
        let uid = bundle.metadata.uid.clone().unwrap_or_default();
        // Nobody else looks at this Bundle now.
        let memory = self.memories().remove(place).filter(|memory| memory.bundle == uid);
        let mut memory = memory.unwrap_or_else(|| Memory { bundle: uid, ..Memory::default() });
        memory.timer = None;
        let looked = match bundle.metadata.deletion_timestamp {
            None => self.carry_out(place, bundle.clone(), &mut memory).await,
            Some(_) => self.end(place, bundle.clone()).await,
        };
        if let Err(WorkError::NotWritten { source, .. }) = &looked {
            self.tell_not_written(&bundle, source);
        }
        if looked.is_err() {
            // What has been told meanwhile was not acted upon.
            memory.observed.clear();
        }
        if matches!(looked, Ok(Retry::Later)) || !self.watches.are_live(place) {
            memory.timer = Some(self.later(place.clone()));
        }
        self.memories().insert(place.clone(), memory);
        match looked? {
            Retry::OnChange | Retry::Later => Ok(()),
            Retry::Soon => Err(WorkError::NotMade(place.clone())),
        }
    }

    fn later(&self, place: Place) -> AbortOnDropHandle<()> {
        let queue = self.queue.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            sleep(FROM_TIME_TO_TIME).await;
            queue.add(place);
        }))
    }

    /// Makes a Bundle's objects what they should be.
    async fn carry_out(
        self: &Arc<Self>,
        place: &Place,
        bundle: Arc<Bundle>,
        memory: &mut Memory,
    ) -> Result<Retry, WorkError> {
        let generation = bundle.metadata.generation;
        let planned = plan(&bundle, memory);
        let plan = match &*planned {
            Ok(plan) => plan,
            Err(problems) => {
                let message = problems
                    .iter()
                    .map(|problem| format!("{}: {}", problem.field, problem.why))
                    .collect::<Vec<_>>()
                    .join("; ");
                return self.say_not_ready(&bundle, "Invalid", &message, Retry::OnChange).await;
            }
        };
        let account = match self.account(&bundle).await {
            Ok(account) => account,
            Err(NoAccount { reason, message }) => {
                return self.say_not_ready(&bundle, reason, &message, Retry::Later).await;
            }
        };
        let site = self.site(place, &bundle, account);
        let mut pass = Pass::new(&site, plan, memory, bundle.clone());
        pass.run().await?;
        let mut status = pass.bundle.status.clone().unwrap_or_default();
        status.inventory = pass.inventory();
        told::resources(&mut status, plan, &pass.outcomes, generation, (self.now)());
        let retry = pass.outcomes.iter().flatten().map(|outcome| outcome.retry).max().unwrap_or(Retry::OnChange);
        let (is_ready, mut old) = (pass.is_ready(), pass.unwanted());
        let never_made = site.never_made(&old, &status.inventory).await;
        for items in [&mut old, &mut status.inventory] {
            items.retain(|item| !never_made.contains(item));
        }
        let (mut pruned, mut still_there) = (Vec::new(), Vec::new());
        let mut retry = retry;
        if old.is_empty() {
            self.pruning(
                &mut status,
                ConditionStatus::True,
                "Complete",
                "nothing is left that is not wanted",
                generation,
            );
        } else if !is_ready {
            let message = format!("not removed until all resources are ready: {}", named(&old));
            self.pruning(&mut status, ConditionStatus::False, "WaitingForReady", &message, generation);
            still_there = old;
        } else {
            let left = site.remove(old.clone(), Occasion::TakenOut).await;
            status.inventory.retain(|item| !left.is_over(item));
            if left.items.is_empty() {
                self.pruning(
                    &mut status,
                    ConditionStatus::True,
                    "Complete",
                    "nothing is left that is not wanted",
                    generation,
                );
            } else {
                let message = format!("still there: {}{}", named(&left.items), left.why());
                let reason = if left.protected.is_empty() { "Deleting" } else { "Protected" };
                self.pruning(&mut status, ConditionStatus::False, reason, &message, generation);
                retry = retry.max(if left.troubles.is_empty() { Retry::OnChange } else { Retry::Soon });
            }
            (pruned, still_there) = (left.gone, left.items);
        }
        let held = pass.outputs(&status.inventory, &still_there).await;
        status.outputs = held.outputs;
        status.observed_generation = generation;
        self.tell(&pass.bundle, &status, &pass.outcomes, &pruned);
        self.write_status(&pass.bundle, status).await?;
        self.watches.keep(place, &site.interests());
        Ok(retry.max(held.retry))
    }

    fn site<'s>(self: &'s Arc<Self>, place: &'s Place, bundle: &'s Bundle, account: ServiceAccountRef) -> Site<'s> {
        Site {
            shared: self,
            bundle,
            place,
            apply_set: apply_set_id(&place.namespace, &place.name),
            hands: Hands::new(&*self.clients.act_as, account),
            news: self.watches.take_news(place),
            interests: Mutex::new(HashSet::new()),
        }
    }

    fn pruning(
        &self,
        status: &mut BundleStatus,
        is_complete: ConditionStatus,
        reason: &str,
        message: &str,
        generation: Option<i64>,
    ) {
        let verdict = Verdict { condition: PRUNING_COMPLETE, status: is_complete, reason, message };
        told::say(status, verdict, generation, (self.now)());
    }

    /// Says that nothing can be done for a Bundle, and why.
    async fn say_not_ready(
        &self,
        bundle: &Arc<Bundle>,
        reason: &str,
        message: &str,
        retry: Retry,
    ) -> Result<Retry, WorkError> {
        let mut status = bundle.status.clone().unwrap_or_default();
        let verdict = Verdict { condition: READY, status: ConditionStatus::False, reason, message };
        told::say(&mut status, verdict, bundle.metadata.generation, (self.now)());
        status.observed_generation = bundle.metadata.generation;
        status.critical_path = None;
        if status.resources.is_empty() {
            status.ready = Some(format!("0/{}", bundle.spec.resources.len()));
        }
        self.tell(bundle, &status, &[], &[]);
        self.write_status(bundle, status).await?;
        Ok(retry)
    }

    /// Removes everything that a Bundle has created, and lets it go.
    async fn end(self: &Arc<Self>, place: &Place, bundle: Arc<Bundle>) -> Result<Retry, WorkError> {
        let finalizers = bundle.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|finalizer| finalizer == Bundle::FINALIZER) {
            return Ok(Retry::OnChange);
        }
        // Who removes owners from what is to stay has not done so yet.
        if finalizers.iter().any(|finalizer| finalizer == "orphan") {
            return Ok(Retry::OnChange);
        }
        let mut inventory = bundle.status.as_ref().map(|status| status.inventory.clone()).unwrap_or_default();
        // What is said of a resource now counts, though nothing else is done for a Bundle that goes.
        for item in &mut inventory {
            if let Some(wanted) = bundle.spec.resources.iter().find(|wanted| wanted.name == item.resource) {
                item.lifecycle = wanted.lifecycle;
            }
        }
        // Everything in a namespace that ends goes with it, and who could act for the Bundle as well.
        if inventory.is_empty() || self.is_namespace_ending(&place.namespace).await {
            return self.release(&bundle).await;
        }
        let account = match self.account(&bundle).await {
            Ok(account) => account,
            Err(NoAccount { reason, message }) => {
                return self.say_not_ready(&bundle, reason, &message, Retry::Later).await;
            }
        };
        let site = self.site(place, &bundle, account);
        let never_made = site.never_made(&inventory, &inventory).await;
        inventory.retain(|item| !never_made.contains(item));
        let protected = |item: &&InventoryItem| item.lifecycle == Lifecycle::Protect;
        let mut left = site.remove(inventory.iter().filter(protected).cloned().collect(), Occasion::BundleGoes).await;
        // As long as something is protected, what it needs or is good for stays as well.
        if left.items.is_empty() {
            left = site.remove(inventory, Occasion::BundleGoes).await;
        }
        self.watches.keep(place, &site.interests());
        if left.items.is_empty() {
            return self.release(&bundle).await;
        }
        let retry = if left.troubles.is_empty() { Retry::OnChange } else { Retry::Soon };
        if !left.protected.is_empty() {
            let message = format!("nothing is deleted{}", left.why());
            return self.say_not_ready(&bundle, "Protected", &message, retry).await;
        }
        let mut status = bundle.status.clone().unwrap_or_default();
        status.inventory.clone_from(&left.items);
        status.resources.retain(|resource| left.items.iter().any(|item| item.resource == resource.name));
        let written = self.write_status(&bundle, status).await?;
        let message = format!("being deleted: {}{}", named(&left.items), left.why());
        self.say_not_ready(&written, "Deleting", &message, retry).await
    }

    /// Lets a Bundle go.
    async fn release(&self, bundle: &Bundle) -> Result<Retry, WorkError> {
        let finalizers: Vec<&String> =
            bundle.metadata.finalizers.iter().flatten().filter(|finalizer| *finalizer != Bundle::FINALIZER).collect();
        let metadata = json!({
            "uid": bundle.metadata.uid, "resourceVersion": bundle.metadata.resource_version, "finalizers": finalizers,
        });
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let bundles = self.api(bundle);
        match bundles.patch(&bundle.name_any(), &params, &Patch::Merge(json!({ "metadata": metadata }))).await {
            Ok(_) => Ok(Retry::OnChange),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Retry::OnChange),
            Err(source) => Err(WorkError::NotWritten { name: Place::of(bundle), source: Box::new(source) }),
        }
    }

    /// Writes what a Bundle says of itself, unless it says so already. Gives it as it is then.
    pub(super) async fn write_status(
        &self,
        bundle: &Arc<Bundle>,
        status: BundleStatus,
    ) -> Result<Arc<Bundle>, WorkError> {
        if bundle.status.as_ref() == Some(&status) {
            return Ok(bundle.clone());
        }
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let changed = Bundle { status: Some(status), ..Bundle::clone(bundle) };
        let place = Place::of(&**bundle);
        match self.api(bundle).replace_status(&place.name, &params, &changed).await {
            Ok(written) => {
                let written = Arc::new(written);
                let mut bundles = self.bundles();
                // What came by the watch meanwhile may be newer.
                if bundles.get(&place).is_some_and(|known| !super::is_as_new(known, &written)) {
                    bundles.insert(place, written.clone());
                }
                Ok(written)
            }
            Err(source) => Err(WorkError::NotWritten { name: place, source: Box::new(source) }),
        }
    }

    fn api(&self, bundle: &Bundle) -> Api<Bundle> {
        Api::namespaced(self.clients.own.clone(), &bundle.namespace().unwrap_or_default())
    }

    /// Who acts for a Bundle, if it is still the account that its writer was allowed to act as.
    async fn account(&self, bundle: &Bundle) -> Result<ServiceAccountRef, NoAccount> {
        let (namespace, name) = (bundle.namespace().unwrap_or_default(), bundle.spec.service_account_name());
        let account = ServiceAccountRef::new(&namespace, name)
            .map_err(|error| NoAccount { reason: "AccountMissing", message: error.to_string() })?;
        let pinned = bundle.status.as_ref().and_then(|status| status.service_account_uid.as_deref());
        let known = self.accounts().get(&Place { namespace: namespace.clone(), name: name.to_owned() }).cloned();
        if known.is_some() && known.as_deref() == pinned {
            return Ok(account);
        }
        // What is followed may be behind.
        let accounts: Api<ServiceAccount> = Api::namespaced(self.clients.host.clone(), &namespace);
        match look_up(&accounts, name).await {
            Ok(Some(found)) if found.metadata.uid.as_deref() == pinned => Ok(account),
            Ok(Some(_)) => Err(NoAccount {
                reason: "AccountReplaced",
                message: format!(
                    "the service account \"{name}\" is not the one that it was when the Bundle was written; \
                     change anything in spec to use this one, which whoever does so must be allowed to act as, or name \
                     another one in spec.serviceAccountName"
                ),
            }),
            Ok(None) => Err(NoAccount {
                reason: "AccountMissing",
                message: format!(
                    "the service account \"{name}\" is gone, and nobody else may act for the Bundle; name another one in \
                     spec.serviceAccountName, or delete the Bundle and remove its finalizer {} to leave what was created as \
                     it is",
                    Bundle::FINALIZER
                ),
            }),
            Err(error) => Err(NoAccount { reason: "AccountUnknown", message: error.to_string() }),
        }
    }

    async fn is_namespace_ending(&self, name: &str) -> bool {
        let namespaces: Api<Namespace> = Api::all(self.clients.host.clone());
        match look_up_metadata(&namespaces, name).await {
            Ok(Some(found)) => found.metadata.deletion_timestamp.is_some(),
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

/// The plan of a Bundle, made once for each generation.
fn plan(bundle: &Bundle, memory: &mut Memory) -> Planned {
    let generation = bundle.metadata.generation.unwrap_or_default();
    match &memory.plan {
        Some((known, plan)) if *known == generation => plan.clone(),
        Some(_) | None => {
            let plan = Arc::new(Plan::of(&bundle.spec, &bundle.namespace().unwrap_or_default()));
            memory.plan = Some((generation, plan.clone()));
            memory.written.values_mut().for_each(|written| written.corrections = Corrections::default());
            // Nobody hears any more of what was taken out; should it be taken in again, it is looked at anew.
            let is_planned = |name: &str| match &*plan {
                Ok(plan) => plan.resources().iter().any(|resource| resource.name == name),
                Err(_) => false,
            };
            memory.observed.retain(|name, _| is_planned(name));
            memory.written.retain(|name, _| is_planned(name));
            plan
        }
    }
}

fn named(items: &[InventoryItem]) -> String {
    items.iter().map(|item| item.object.to_string()).collect::<Vec<_>>().join(", ")
}
