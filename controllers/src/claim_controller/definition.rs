//! Definitions of bindings: whether claims can be satisfied by one, and what stands in the way.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bailiwick_api::claims::{CLASS_FINALIZER, KindFacts, provisioner_role};
use bailiwick_api::{
    BINDING_DEFINITION_FINALIZER, ClassUse, ConditionStatus, ResourceBindingDefinition, ResourceBindingDefinitionStatus,
};
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::access::Right;
use super::claim_status::ClaimStatus;
use super::index::{Definition, EntryFacts, Key, Standing, class_key, of_facts};
use super::objects::finalizers;
use super::{FIELD_MANAGER, Shared, Work, WorkError, group_kind};
use crate::conditions::{self, Verdict};
use crate::status::listed;

/// How often it is asked whether something has become allowed.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How many classes are shown with the number of their claims.
const MAX_CLASSES: usize = 100;
/// How many claims are named that keep a definition from going.
const NAMED: usize = 10;

/// What is to be said of a definition: a reason, and more about it.
struct Told {
    accepted: Option<(ConditionStatus, &'static str, String)>,
    ready: (ConditionStatus, &'static str, String),
}

// === impl Shared ===

impl Shared {
    pub(super) async fn look_at_definition(self: &Arc<Self>, name: &str) -> Result<(), WorkError> {
        self.counted_soon.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        let found = self.index().definitions.get(name).cloned();
        let Some(definition) = found else {
            self.stand(name, None);
            return Ok(());
        };
        let (standing, told) = self.judge(&definition).await?;
        let is_broken = told.ready.0 == ConditionStatus::False && !definition.is_going();
        self.stand(name, Some(standing));
        let is_used = !self.index().definition_users(&definition.uid()).is_empty();
        if definition.is_going() && !is_used && self.sees_claims(&definition) {
            return self.let_go(&definition).await;
        }
        self.write_definition(&definition, &told).await?;
        if is_broken {
            self.queue.add_after(Work::Definition(name.to_owned()), ASK_AGAIN);
        }
        Ok(())
    }

    /// Notes what came of looking at a definition. Claims are looked at again if that is something else than before.
    fn stand(self: &Arc<Self>, name: &str, standing: Option<Standing>) {
        let mut index = self.index();
        let state = index.definitions.get(name).map(|definition| (definition.generation(), definition.is_going()));
        let last = match state {
            Some(state) => index.looked_at.insert(name.to_owned(), state),
            None => index.looked_at.remove(name),
        };
        let old = index.standings.get(name).cloned();
        let stands_as_before = old.as_deref() == standing.as_ref();
        if stands_as_before && last == state {
            return;
        }
        match standing {
            Some(standing) => index.standings.insert(name.to_owned(), Arc::new(standing)),
            None => index.standings.remove(name),
        };
        drop(index);
        if !stands_as_before {
            self.follow_what_is_wanted();
        }
        self.look_at_claims_of(name);
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

    /// Whether all claims have been seen that a definition may satisfy, or there can be none.
    fn sees_claims(&self, definition: &Definition) -> bool {
        let index = self.index();
        let Some(facts) = index.facts(&definition.object.spec.claim) else { return true };
        !facts.missing.is_empty() || index.has_seen_all_for(&of_facts(&facts))
    }

    async fn judge(&self, definition: &Definition) -> Result<(Standing, Told), WorkError> {
        let spec = &definition.object.spec;
        let claim = self.index().facts(&spec.claim);
        let Some(claim) = claim else {
            return Ok((Standing::default(), Told::unknown_kind(&spec.claim.api_version, &spec.claim.kind)));
        };
        if !claim.missing.is_empty() || !claim.namespaced {
            return Ok((Standing::default(), Told::no_claim(&claim)));
        }
        if let Some(other) = self.older_in_another_version(definition) {
            return Ok((Standing::default(), Told::disagreement(&other)));
        }
        let rights = claim_rights(&claim);
        // Where the provisioner may, claims can be handled, and at least let go, whatever else is wrong.
        let may_handle = self.access.refused_to_provisioner(&rights).await?.is_none();
        let mut standing = Standing { claim: may_handle.then(|| claim.clone()), entries: None };
        let mut entries = Vec::new();
        for entry in &spec.resources {
            let class = entry.class.reference();
            let (resource, class_facts) = {
                let index = self.index();
                (index.facts(&entry.resource), index.facts(&class))
            };
            match (resource, class_facts) {
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
        if !is_accepted(&definition.object) {
            let nobody = bailiwick_api::Requester::default();
            let status = definition.object.status.as_ref();
            let requester = status.and_then(|status| status.requester.as_ref()).unwrap_or(&nobody);
            if let Some(right) = self.access.refused_to(requester, &all).await? {
                return Ok((standing, Told::not_allowed(&requester.username, right)));
            }
        }
        if let Some(right) = self.access.refused_to_provisioner(&all).await? {
            return Ok((standing, self.not_provisioned(right)));
        }
        if definition.rules.len() != spec.resources.len() {
            return Ok((standing, Told::refused("Unreadable", "its strategies cannot be read".to_owned())));
        }
        standing.entries = Some(entries);
        let users = self.index().definition_users(&definition.uid());
        let told = match definition.is_going() {
            true => Told::going(&users),
            false => Told::good(),
        };
        Ok((standing, told))
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

    async fn write_definition(&self, definition: &Definition, told: &Told) -> Result<(), WorkError> {
        let object = &definition.object;
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
            "clusterRole": new.cluster_role,
            "observedGeneration": new.observed_generation,
        });
        let api: Api<ResourceBindingDefinition> = Api::all(self.clients.own.clone());
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
                    *classes.entry(class_key(class)).or_default() += 1;
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
        let resources: Vec<Arc<KindFacts>> =
            entries.clone().map(|entry| index.facts(&entry.resource)).collect::<Option<_>>()?;
        let classes: Vec<Arc<KindFacts>> =
            entries.map(|entry| index.facts(&entry.class.reference())).collect::<Option<_>>()?;
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

    /// Lets go of a definition that no claim is satisfied by, and of the classes that were held for it.
    async fn let_go(&self, definition: &Definition) -> Result<(), WorkError> {
        let object = &definition.object;
        if !object.finalizers().iter().any(|finalizer| finalizer == BINDING_DEFINITION_FINALIZER) {
            return Ok(());
        }
        let held: Vec<Key> = {
            let index = self.index();
            let kinds = object.spec.resources.iter().map(|entry| group_kind(&entry.class.reference()));
            let of_kind = |kind: crate::served_kinds::GroupKind| {
                let classes = index.classes.get(&kind).into_iter().flatten();
                let held = classes.filter(|(_, class)| finalizers(class).contains(&CLASS_FINALIZER));
                held.map(|(place, _)| Key { kind: kind.clone(), place: place.clone() }).collect::<Vec<_>>()
            };
            let all: Vec<Key> = kinds.flat_map(of_kind).collect();
            all.into_iter().filter(|class| index.class_users(class).is_empty()).collect()
        };
        for class in held {
            self.let_go_of_class(&class).await?;
        }
        let kept = object.finalizers().iter().filter(|finalizer| *finalizer != BINDING_DEFINITION_FINALIZER);
        let patch = json!({ "metadata": {
            "uid": object.metadata.uid,
            "resourceVersion": object.metadata.resource_version,
            "finalizers": kept.collect::<Vec<_>>(),
        } });
        let api: Api<ResourceBindingDefinition> = Api::all(self.clients.own.clone());
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&object.name_any(), &params, &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }
}

/// Whether it was accepted as it is now: its writer was asked for then, and is not asked for again.
fn is_accepted(object: &ResourceBindingDefinition) -> bool {
    let said = object.status.iter().flat_map(|status| &status.conditions);
    said.into_iter().any(|condition| {
        condition.condition_type == "Accepted"
            && condition.status == ConditionStatus::True
            && condition.observed_generation == object.metadata.generation
    })
}

fn claim_rights(claim: &KindFacts) -> Vec<Right> {
    rights(claim, KindFacts::CLAIM_VERBS, true)
}

fn entry_rights(entry: &EntryFacts) -> Vec<Right> {
    let mut all = rights(&entry.resource, KindFacts::RESOURCE_VERBS, true);
    all.extend(rights(&entry.class, KindFacts::CLASS_VERBS, false));
    all
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

// === impl Told ===

impl Told {
    fn good() -> Self {
        let message = "claims are satisfied by this definition".to_owned();
        Self {
            accepted: Some((
                ConditionStatus::True,
                "Accepted",
                "its kinds are served, and its writer may use them".to_owned(),
            )),
            ready: (ConditionStatus::True, "Ready", message),
        }
    }

    /// It is not accepted, and therefore nothing is done by it.
    fn refused(reason: &'static str, message: String) -> Self {
        let said = (ConditionStatus::False, reason, message);
        Self { accepted: Some(said.clone()), ready: said }
    }

    fn unknown_kind(api_version: &str, kind: &str) -> Self {
        let message = format!("there is no kind {kind} of {api_version} that a CustomResourceDefinition defines");
        Self::refused("UnknownKind", message)
    }

    fn no_claim(claim: &KindFacts) -> Self {
        if !claim.namespaced {
            return Self::refused("NotNamespaced", format!("{} are not in namespaces, and claims are", claim.plural));
        }
        let missing = claim.missing.join(", ");
        Self::refused("FieldsMissing", format!("{} lack what claims have: {missing}", claim.plural))
    }

    fn disagreement(other: &str) -> Self {
        let message =
            format!("the older ResourceBindingDefinition \"{other}\" names another version of the same claims");
        Self::refused("Disagreement", message)
    }

    fn not_allowed(username: &str, right: &Right) -> Self {
        let message = format!(
            "whoever writes a definition must be allowed what it leads to: user \"{username}\" may not {right}; someone who may \
             can write it again"
        );
        Self::refused("NotAllowed", message)
    }

    fn going(users: &[Key]) -> Self {
        let some: Vec<String> = users.iter().take(NAMED).map(|key| key.place.to_string()).collect();
        let message = format!(
            "it is deleted when no claim is satisfied by it any more; {} are: {}",
            users.len(),
            some.join(", ")
        );
        Self { accepted: None, ready: (ConditionStatus::False, "Terminating", message) }
    }
}
