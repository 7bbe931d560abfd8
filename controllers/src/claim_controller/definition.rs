//! Definitions of bindings: whether claims can be satisfied by one, and what stands in the way.

mod told;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::claims::{KindFacts, provisioner_role};
use bailiwick_api::{
    ClassUse, ConditionStatus, FormerResource, KindReference, ResourceBindingDefinition,
    ResourceBindingDefinitionStatus,
};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::Instant;

use super::access::Right;
use super::claim_status::ClaimStatus;
use super::followers::PATIENCE;
use super::index::{
    Definition, DefinitionState, EntryFacts, Key, Served, Standing, Unjudged, former, key_of, of_facts,
};
use super::{FIELD_MANAGER, Shared, Work, WorkError, group_kind};
use crate::absence::look_up;
use crate::conditions::{self, Verdict};
use crate::status::listed;

use told::Told;

/// How often it is asked whether something has become allowed.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How many classes are shown with the number of their claims.
const MAX_CLASSES: usize = 100;

// === impl Shared ===

impl Shared {
    pub(super) async fn look_at_definition(self: &Arc<Self>, name: &str) -> Result<(), WorkError> {
        let found = self.index().definitions.get(name).cloned();
        let Some(definition) = found else {
            self.stand(name, None);
            return Ok(());
        };
        let (mut standing, mut told) = match self.judge(&definition).await {
            Err(error) => {
                self.leave_unjudged(name, &definition);
                return Err(error);
            }
            Ok(judged) => judged,
        };
        let claim = group_kind(&definition.object.spec.claim);
        let failing = self.failing_for(&standing);
        standing.unlistable = failing.keys().filter(|kind| **kind != claim).cloned().collect();
        self.stand(name, Some((definition.state(), standing)));
        if told.ready.0 == ConditionStatus::True {
            let overdue = self.overdue_for(&claim);
            if !failing.is_empty() {
                told.ready = Told::unlistable(&failing);
            } else if !overdue.is_empty() {
                told.ready = Told::overdue(&overdue);
            }
        }
        let is_broken = told.ready.0 == ConditionStatus::False && !definition.is_going();
        let is_waiting = !self.index().has_seen_all_for(&claim) && !definition.is_going();
        let users = self.index().definition_users(&definition.uid());
        if definition.is_going() {
            if users.is_empty() && self.sees_what_it_holds(&definition) {
                return self.let_go(&definition).await;
            }
            // Whatever else is wrong with it, that is what its deletion waits for.
            told.ready = Told::going(&users);
        }
        let done_with = self.release_former(&definition).await?;
        self.write_definition(&definition, &told, &done_with).await?;
        if is_broken {
            self.queue.add_after(Work::Definition(name.to_owned()), ASK_AGAIN);
        } else if is_waiting {
            self.queue.postpone(Work::Definition(name.to_owned()), PATIENCE);
        }
        Ok(())
    }

    /// Claims do not wait for a definition that cannot be judged: if it still cannot be after some time, they go on without it.
    /// What fails once may be done soon, and a claim that is decided before gets for good what it was not to get.
    fn leave_unjudged(&self, name: &str, definition: &Definition) {
        let fresh = Unjudged { state: definition.state(), since: Instant::now(), is_waited_for: true };
        let mut index = self.index();
        let unjudged = index.unjudged.entry(name.to_owned()).or_insert_with(|| fresh.clone());
        if unjudged.state != fresh.state {
            *unjudged = fresh;
        }
        let left = PATIENCE.saturating_sub(unjudged.since.elapsed());
        let is_given_up = left.is_zero() && std::mem::take(&mut unjudged.is_waited_for);
        drop(index);
        if is_given_up {
            self.look_at_claims_of(name);
        } else if !left.is_zero() {
            self.queue.postpone(Work::Definition(name.to_owned()), left);
        }
    }

    /// Notes what came of looking at a definition. Claims are looked at again if that is something else than before.
    fn stand(self: &Arc<Self>, name: &str, judged: Option<(DefinitionState, Standing)>) {
        let (state, standing) = judged.unzip();
        let mut index = self.index();
        index.unjudged.remove(name);
        // Which may be another by now: then it is looked at again.
        let last = match state.clone() {
            Some(state) => index.looked_at.insert(name.to_owned(), state),
            None => index.looked_at.remove(name),
        };
        let old = index.standings.get(name).cloned();
        let stands_as_before = old.as_deref() == standing.as_ref();
        let unlistable =
            |standing: Option<&Standing>| standing.map(|standing| standing.unlistable.clone()).unwrap_or_default();
        let lists_as_before = unlistable(old.as_deref()) == unlistable(standing.as_ref());
        if stands_as_before && last == state {
            return;
        }
        match standing {
            Some(standing) => index.standings.insert(name.to_owned(), Arc::new(standing)),
            None => index.standings.remove(name),
        };
        // They may have waited for what it named. Where it has gone, nobody finds them by it any more.
        let claim = old.as_deref().and_then(|old| old.claim.as_deref());
        let waiting = claim.map(|claim| index.waiting_of(&of_facts(claim))).unwrap_or_default();
        drop(index);
        if !stands_as_before {
            self.follow_what_is_wanted();
        }
        self.queue.extend(waiting);
        self.look_at_claims_of(name);
        if !lists_as_before {
            self.look_at_others_for_claims_of(name);
        }
    }

    /// Others wait for what a definition names, unless it is left out.
    fn look_at_others_for_claims_of(&self, name: &str) {
        let index = self.index();
        let found = index.definitions.get(name).map(|definition| group_kind(&definition.object.spec.claim));
        let work = found.map(|claim| index.definitions_for(&claim)).unwrap_or_default();
        drop(index);
        self.queue.extend(work.into_iter().filter(|work| *work != Work::Definition(name.to_owned())));
    }

    /// Claims that wait may be satisfied by it now, and those that are may be told that it has changed.
    fn look_at_claims_of(&self, name: &str) {
        let index = self.index();
        let Some(definition) = index.definitions.get(name) else { return };
        let kind = group_kind(&definition.object.spec.claim);
        let mut work = index.waiting_of(&kind);
        let users = index.definition_users(&definition.uid());
        work.extend(users.into_iter().filter(|key| key.kind == kind).map(Work::Claim));
        drop(index);
        self.queue.extend(work);
    }

    /// Whether all claims have been seen that a definition may satisfy, or there can be none; and all classes that may be held
    /// for it.
    pub(super) fn sees_what_it_holds(&self, definition: &Definition) -> bool {
        let index = self.index();
        let claim = &definition.object.spec.claim;
        let standing = index.standings.get(&definition.object.name_any());
        let is_handled = standing.is_some_and(|standing| standing.claim.is_some());
        let sees_claims = match index.served(&claim.api_version, &claim.kind) {
            Served::Gone => true,
            Served::Not => false,
            // What never was a kind of claims, and cannot be looked at, holds nothing up.
            Served::As(facts) if !facts.namespaced || (!facts.missing.is_empty() && !is_handled) => true,
            Served::As(facts) => index.has_seen_all_for(&of_facts(&facts)),
        };
        let mut classes = standing.into_iter().flat_map(|standing| &standing.classes);
        sees_claims && classes.all(|class| index.has_seen_all_of(&of_facts(class)))
    }

    async fn judge(&self, definition: &Definition) -> Result<(Standing, Told), WorkError> {
        let spec = &definition.object.spec;
        let mut standing = Standing {
            classes: self.classes_of(definition).await?,
            resources: self.resources_of(definition).await?,
            ..Standing::default()
        };
        let unknown = || Told::unknown_kind(&spec.claim.api_version, &spec.claim.kind);
        let served = self.index().served(&spec.claim.api_version, &spec.claim.kind);
        let Served::As(claim) = served else { return Ok((standing, unknown())) };
        if !claim.namespaced {
            return Ok((standing, Told::no_claim(&claim)));
        }
        if let Some(other) = self.older_in_another_version(definition) {
            return Ok((standing, Told::disagreement(&other)));
        }
        let rights = claim_rights(&claim);
        // Where the provisioner may, claims can be handled, and at least let go, whatever else is wrong.
        let may_handle = self.access.refused_to_provisioner(&rights).await?.is_none();
        standing.claim = may_handle.then(|| claim.clone());
        if claim.api_version() != spec.claim.api_version {
            return Ok((standing, unknown()));
        }
        if claim.going {
            return Ok((standing, Told::kind_going(&claim)));
        }
        if !claim.missing.is_empty() {
            return Ok((standing, Told::no_claim(&claim)));
        }
        let mut entries = Vec::new();
        for entry in &spec.resources {
            let class = entry.class.reference();
            let (resource, class_facts) = {
                let index = self.index();
                (index.facts(&entry.resource), index.facts(&class))
            };
            match (resource, class_facts) {
                (Some(going), _) | (_, Some(going)) if going.going => {
                    return Ok((standing, Told::kind_going(&going)));
                }
                (Some(resource), Some(class)) => entries.push(EntryFacts { resource, class }),
                (None, _) => {
                    let told = Told::unknown_kind(&entry.resource.api_version, &entry.resource.kind);
                    return Ok((standing, told));
                }
                (_, None) => return Ok((standing, Told::unknown_kind(&class.api_version, &class.kind))),
            }
        }
        let mut all = rights;
        all.extend(entries.iter().flat_map(entry_rights));
        // Asked each time: that it was accepted is said in a status, which others can write too.
        let status = definition.object.status.as_ref();
        let requester = match status.and_then(|status| status.requester.as_ref()) {
            Some(requester) => self.clients.whole(&definition.object, requester).await?,
            None => bailiwick_api::Requester::default(),
        };
        if let Some(right) = self.access.refused_to(&requester, &all).await? {
            return Ok((standing, Told::not_allowed(&requester.username, right)));
        }
        if let Some(right) = self.access.refused_to_provisioner(&all).await? {
            return Ok((standing, self.not_provisioned(right)));
        }
        if definition.rules.len() != spec.resources.len() {
            return Ok((standing, Told::refused("Unreadable", "its strategies cannot be read".to_owned())));
        }
        standing.entries = Some(entries);
        Ok((standing, Told::good()))
    }

    /// The kinds of a definition's classes, as far as the provisioner may handle them.
    async fn classes_of(&self, definition: &Definition) -> Result<Vec<Arc<KindFacts>>, WorkError> {
        let named = definition.object.spec.resources.iter().map(|entry| entry.class.reference());
        let former = definition.former().iter().map(|entry| entry.class.clone());
        self.handled(named.chain(former), class_rights).await
    }

    /// The kinds of a definition's resources, as far as the provisioner may handle them.
    async fn resources_of(&self, definition: &Definition) -> Result<Vec<Arc<KindFacts>>, WorkError> {
        let named = definition.object.spec.resources.iter().map(|entry| entry.resource.clone());
        let former = definition.former().iter().map(|entry| entry.resource.clone());
        self.handled(named.chain(former), resource_rights).await
    }

    /// Those of these kinds that are served, and that the provisioner has these rights to.
    async fn handled(
        &self,
        kinds: impl Iterator<Item = KindReference> + Send,
        rights: fn(&KindFacts) -> Vec<Right>,
    ) -> Result<Vec<Arc<KindFacts>>, WorkError> {
        let mut handled = Vec::new();
        for kind in kinds {
            let served = self.index().served(&kind.api_version, &kind.kind);
            if let Served::As(facts) = served
                && !handled.contains(&facts)
                && self.access.refused_to_provisioner(&rights(&facts)).await?.is_none()
            {
                handled.push(facts);
            }
        }
        Ok(handled)
    }

    /// Claims are handled in one version. Whoever names another than an older definition has to give way.
    fn older_in_another_version(&self, definition: &Definition) -> Option<String> {
        let spec = &definition.object.spec;
        let age =
            |object: &ResourceBindingDefinition| (object.creation_timestamp().map(|time| time.0), object.name_any());
        let index = self.index();
        let others =
            index.definitions.values().map(|other| &other.object).filter(|other| {
                group_kind(&other.spec.claim) == group_kind(&spec.claim) && other.spec.claim != spec.claim
            });
        others.filter(|other| age(other) < age(&definition.object)).map(ResourceExt::name_any).min()
    }

    fn not_provisioned(&self, right: &Right) -> Told {
        let message = format!(
            "the service account {} may not {right}: apply status.clusterRole, or give it that right by another ClusterRole \
             with the label {}",
            self.provisioner,
            bailiwick_api::claims::PROVISIONER_LABEL,
        );
        Told { ready: (ConditionStatus::False, "ProvisionerNotAllowed", message), ..Told::good() }
    }

    async fn write_definition(
        &self,
        definition: &Definition,
        told: &Told,
        done_with: &[FormerResource],
    ) -> Result<(), WorkError> {
        let api: Api<ResourceBindingDefinition> = Api::all(self.clients.own.clone());
        let found = look_up(&api, &definition.object.name_any()).await?;
        // One that is another by now will be looked at for itself.
        let is_it = |found: &ResourceBindingDefinition| {
            found.metadata.uid == definition.object.metadata.uid
                && found.metadata.generation == definition.object.metadata.generation
        };
        let Some(object) = found.as_ref().filter(|found| is_it(found)) else { return Ok(()) };
        let old = object.status.clone().unwrap_or_default();
        let (generation, now) = (object.metadata.generation, (self.now)());
        let mut said = old.conditions.clone();
        let ready = (told.ready.0, told.ready.1, told.ready.2.as_str());
        let accepted = told.accepted.as_ref().map(|(status, reason, message)| (*status, *reason, message.as_str()));
        for (condition, verdict) in [("Accepted", accepted), ("Ready", Some(ready))] {
            let Some((status, reason, message)) = verdict else { continue };
            conditions::set(&mut said, Verdict { condition, status, reason, message }, generation, now);
        }
        let (claims, classes) = self.uses_of(definition);
        let new = ResourceBindingDefinitionStatus {
            conditions: said,
            claims: i64::try_from(claims).ok(),
            classes,
            former_resources: old.former_resources.iter().filter(|entry| !done_with.contains(entry)).cloned().collect(),
            cluster_role: self.role_of(object).or_else(|| old.cluster_role.clone()),
            requester: old.requester.clone(),
            observed_generation: generation,
        };
        if old == new {
            return Ok(());
        }
        let status = json!({
            "conditions": listed(&new.conditions),
            "claims": new.claims,
            "classes": listed(&new.classes),
            "formerResources": listed(&new.former_resources),
            "clusterRole": new.cluster_role,
            "observedGeneration": new.observed_generation,
        });
        Ok(crate::status::write(&api, object, status, FIELD_MANAGER).await?)
    }

    /// How many claims a definition satisfies, and from which classes.
    fn uses_of(&self, definition: &Definition) -> (usize, Vec<ClassUse>) {
        let index = self.index();
        let users = index.definition_users(&definition.uid());
        let mut classes: BTreeMap<Key, i64> = BTreeMap::new();
        for key in &users {
            let Some(claim) = index.claims.get(&key.kind).and_then(|claims| claims.get(&key.place)) else { continue };
            for binding in ClaimStatus::of(claim).bindings {
                if let Some(class) = &binding.class_ref {
                    *classes.entry(key_of(class)).or_default() += 1;
                }
            }
        }
        let shown = classes.into_iter().take(MAX_CLASSES).map(|(key, claims)| ClassUse {
            kind: key.kind.kind,
            namespace: key.place.namespace,
            name: key.place.name,
            claims,
        });
        (users.len(), shown.collect())
    }

    /// What the provisioner needs for a definition, if all its kinds are known.
    fn role_of(&self, object: &ResourceBindingDefinition) -> Option<serde_json::Map<String, serde_json::Value>> {
        let index = self.index();
        let claim = index.facts(&object.spec.claim)?;
        let entries = object.spec.resources.iter();
        let mut resources: Vec<Arc<KindFacts>> =
            entries.clone().map(|entry| index.facts(&entry.resource)).collect::<Option<_>>()?;
        let mut classes: Vec<Arc<KindFacts>> =
            entries.map(|entry| index.facts(&entry.class.reference())).collect::<Option<_>>()?;
        // What it named before is to be handled too, if it is there.
        resources.extend(former(object).iter().filter_map(|entry| index.facts(&entry.resource)));
        classes.extend(former(object).iter().filter_map(|entry| index.facts(&entry.class)));
        drop(index);
        fn names(all: &[Arc<KindFacts>]) -> Vec<(&str, &str)> {
            let mut names: Vec<_> = all.iter().map(|facts| (facts.group.as_str(), facts.plural.as_str())).collect();
            names.sort_unstable();
            names.dedup();
            names
        }
        let claim = (claim.group.as_str(), claim.plural.as_str());
        Some(provisioner_role(&object.name_any(), claim, &names(&classes), &names(&resources)))
    }
}

fn claim_rights(claim: &KindFacts) -> Vec<Right> {
    rights(claim, KindFacts::CLAIM_VERBS, true)
}

fn entry_rights(entry: &EntryFacts) -> Vec<Right> {
    let mut all = resource_rights(&entry.resource);
    all.extend(class_rights(&entry.class));
    all
}

fn resource_rights(resource: &KindFacts) -> Vec<Right> {
    rights(resource, KindFacts::RESOURCE_VERBS, true)
}

fn class_rights(class: &KindFacts) -> Vec<Right> {
    rights(class, KindFacts::CLASS_VERBS, false)
}

fn rights(facts: &KindFacts, verbs: &'static [&'static str], writes_status: bool) -> Vec<Right> {
    let right = |verb: &'static str, subresource: &'static str| Right {
        verb,
        group: facts.group.clone(),
        version: facts.version.clone(),
        resource: facts.plural.clone(),
        subresource,
    };
    let mut all: Vec<Right> = verbs.iter().map(|verb| right(verb, "")).collect();
    if writes_status {
        all.push(right("patch", "status"));
    }
    all
}
