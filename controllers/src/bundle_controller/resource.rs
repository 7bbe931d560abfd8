//! One resource of a Bundle: makes its object what it should be, and says whether it is ready.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use bailiwick_api::bundle::{PlannedResource, is_secret_kind};
use bailiwick_api::{Bundle, BundleObject, Phase};
use k8s_openapi::Resource as _;
use kube::ResourceExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Shared;
use super::hands::{Force, Hands, Trouble};
use super::host_kinds::HostKind;
use super::observed::{Observed, Seen, controller, is_going};
use super::outcome::{Deed, Outcome, Retry};
use super::readiness::{Readiness, readiness};
use super::type_rules::{Binding, TypeRules};
use super::update_loop::Corrections;
use super::watches::{Interest, News};
use crate::place::Place;

/// What is the same for all resources of a Bundle.
pub(super) struct Site<'s> {
    pub(super) shared: &'s Shared,
    pub(super) bundle: &'s Bundle,
    pub(super) place: &'s Place,
    pub(super) hands: Hands,
    pub(super) news: News,
    /// What the Bundle wants to hear of.
    pub(super) interests: Mutex<HashSet<(HostKind, Interest)>>,
}

/// A resource whose object is known.
pub(super) struct Work<'w> {
    pub(super) resource: &'w PlannedResource,
    /// What the object should be.
    pub(super) wanted: Value,
    pub(super) name: String,
    /// What was seen last.
    pub(super) before: Option<Observed>,
    pub(super) corrections: Corrections,
    /// Whether others of the Bundle use what it puts out.
    pub(super) output: OutputUse,
}

/// Whether what a resource puts out is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputUse {
    Unused,
    Used,
}

// === impl Site ===

impl Site<'_> {
    /// Wants to hear of something.
    pub(super) fn listen(&self, kind: &HostKind, interest: Interest) {
        self.shared.watches.add(self.place, &self.hands, kind, interest.clone());
        self.interests.lock().unwrap_or_else(PoisonError::into_inner).insert((kind.clone(), interest));
    }

    pub(super) fn uid(&self) -> &str {
        self.bundle.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether something seen is still so.
    fn is_current(&self, seen: &Seen) -> bool {
        self.shared.watches.is_live(&self.hands, &seen.kind) && !seen.is_outdated(&self.news)
    }

    /// Makes an object what it should be. Gives back what was put right.
    pub(super) async fn make(&self, mut work: Work<'_>) -> (Outcome, Corrections) {
        let outcome = self.try_make(&mut work).await;
        let named = BundleObject {
            api_version: work.resource.api_version.clone(),
            kind: work.resource.kind.clone(),
            name: work.name,
            uid: String::new(),
        };
        let outcome = outcome.unwrap_or_else(|trouble| Outcome::of_trouble(trouble, work.resource));
        let object = outcome.object.clone().or(Some(named));
        (Outcome { object, ..outcome }, work.corrections)
    }

    async fn try_make(&self, work: &mut Work<'_>) -> Result<Outcome, Trouble> {
        let PlannedResource { api_version, kind, .. } = work.resource;
        let found = self.shared.kinds.find(api_version, kind).await;
        let Some(kind) = found.map_err(|error| Trouble::Again(error.to_string()))? else {
            let message = format!("the host serves no kind {kind} in {api_version}; it may come");
            return Ok(Outcome::blocked("KindNotServed", message).retried(Retry::Later));
        };
        if !kind.namespaced {
            return Ok(Outcome::error(
                "ClusterScoped",
                format!("{} is a kind of the cluster as a whole", work.resource.kind),
            ));
        }
        self.listen(&kind, Interest::Name(work.name.clone()));
        let unchanged = work.before.take_if(|before| before.applied == work.wanted);
        let (seen, deed) = match unchanged {
            Some(before) if self.is_current(&before.object) => {
                let seen = before.object.clone();
                work.before = Some(before);
                (seen, Deed::Nothing)
            }
            unchanged => {
                let was_applied = unchanged.is_some();
                work.before = unchanged;
                match self.apply(work, &kind, was_applied).await? {
                    Ok(applied) => applied,
                    Err(outcome) => return Ok(outcome),
                }
            }
        };
        let outcome = self.judge(work, seen).await?;
        Ok(Outcome { deed, ..outcome })
    }

    /// Makes the object what it should be, if it is the Bundle's. Otherwise it says why not.
    async fn apply(
        &self,
        work: &mut Work<'_>,
        kind: &HostKind,
        was_applied: bool,
    ) -> Result<Result<(Seen, Deed), Outcome>, Trouble> {
        let seen = |object: Value| Seen { kind: kind.clone(), name: work.name.clone(), object };
        let found = self.hands.get(kind, &work.name).await?;
        if let Some(found) = &found {
            if let Some(refusal) = self.not_ours(found, work) {
                return Ok(Err(refusal));
            }
            if is_going(found) {
                let message = format!(
                    "{} \"{}\" is being deleted, and is made anew when it is gone",
                    work.resource.kind, work.name
                );
                let outcome = Outcome::new(Phase::InProgress, "Terminating", message);
                return Ok(Err(outcome.with(Some(named(work, found)), None)));
            }
            if was_applied && contains(found, &work.wanted) {
                return Ok(Ok((seen(found.clone()), Deed::Nothing)));
            }
        }
        let is_correction = was_applied && found.is_some();
        if is_correction && let Some(told) = work.corrections.are_too_many(Instant::now()) {
            let object = found.as_ref().map(|found| named(work, found));
            return Ok(Err(Outcome::error("UpdateLoop", told).with(object, None).retried(Retry::Later)));
        }
        let mut wanted = self.owned(&work.wanted);
        if let Some(uid) = found.as_ref().and_then(|found| found.pointer("/metadata/uid")) {
            wanted["metadata"]["uid"] = uid.clone();
        }
        let mut others = Vec::new();
        let applied = match self.hands.apply(kind, &work.name, &wanted, Force::No).await {
            // Only an object that is there, and the Bundle's, is taken from others.
            Err(Trouble::Conflict(who)) if found.is_some() => {
                others = who;
                self.hands.apply(kind, &work.name, &wanted, Force::Yes).await?
            }
            applied => applied?,
        };
        let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
        let deed = match &found {
            None => Deed::Created,
            Some(found) if version(found) == version(&applied) => Deed::Nothing,
            Some(_) => Deed::Updated,
        };
        if is_correction && deed == Deed::Updated {
            work.corrections.note(Instant::now(), others);
        }
        Ok(Ok((seen(applied), deed)))
    }

    /// Why an object is none of this Bundle's, if so. It is left alone.
    fn not_ours(&self, found: &Value, work: &Work<'_>) -> Option<Outcome> {
        let who = match controller(found) {
            Some((uid, _)) if uid == self.uid() => return None,
            Some((_, who)) => format!("is controlled by {who}"),
            None => "was not made by this Bundle".to_owned(),
        };
        let message = format!("{} \"{}\" exists and {who}; it is left alone", work.resource.kind, work.name);
        Some(Outcome::error("NotOwned", message))
    }

    /// The object with the Bundle as its controller.
    fn owned(&self, wanted: &Value) -> Value {
        let mut object = wanted.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            let owner = json!([{
                "apiVersion": Bundle::API_VERSION, "kind": Bundle::KIND, "name": self.bundle.name_any(), "uid": self.uid(),
                "controller": true, "blockOwnerDeletion": true,
            }]);
            metadata.insert("ownerReferences".to_owned(), owner);
            metadata.insert("namespace".to_owned(), json!(self.hands.account().namespace()));
        }
        object
    }

    /// Whether the object is ready.
    async fn judge(&self, work: &Work<'_>, seen: Seen) -> Result<Outcome, Trouble> {
        let object = Some(named(work, &seen.object));
        let rules = match self.shared.types().rules_of(&seen.kind) {
            Ok(rules) => rules,
            Err(error) => return Ok(Outcome::error("InvalidTypeAnnotations", error.to_string()).with(object, None)),
        };
        let TypeRules { exists, .. } = &rules;
        let judged = readiness(&seen.object, &rules);
        let mut observed = Observed { applied: work.wanted.clone(), object: seen, binding: None, output: None };
        let judged = match (judged, exists) {
            (Readiness::Ready, Some(binding)) => self.look_beside(work, binding, &mut observed).await?,
            (judged, _) => judged,
        };
        Ok(match judged {
            Readiness::Ready => Outcome::new(Phase::Ready, "Ready", ""),
            Readiness::NotYet(why) => Outcome::new(Phase::InProgress, "NotReady", why),
            Readiness::Failed(why) => Outcome::error("Failed", why),
        }
        .with(object, Some(observed)))
    }

    /// Whether what must exist beside an object does: what it owns, and what that names.
    async fn look_beside(
        &self,
        work: &Work<'_>,
        binding: &Binding,
        observed: &mut Observed,
    ) -> Result<Readiness, Trouble> {
        let Binding { api_version, kind, output_name } = binding;
        let found = self.shared.kinds.find(api_version, kind).await;
        let Some(binding_kind) = found.map_err(|error| Trouble::Again(error.to_string()))? else {
            return Ok(Readiness::NotYet(format!(
                "it is ready when a {kind} exists, a kind that the host does not serve"
            )));
        };
        let owner = observed.object.uid().to_owned();
        self.listen(&binding_kind, Interest::OwnedBy(owner.clone()));
        let mut names = match self.shared.watches.owned_by(&self.hands, &binding_kind, &owner) {
            Some(names) => names,
            None => self.hands.owned_by(&binding_kind, &owner).await?,
        };
        names.sort();
        let missing = || Readiness::NotYet(format!("no {kind} exists that it owns"));
        let Some(name) = names.into_iter().next() else { return Ok(missing()) };
        let before = work.before.as_ref().and_then(|before| before.binding.as_ref());
        let Some(binding) = self.look(&binding_kind, &name, before).await? else { return Ok(missing()) };
        let owns = |object: &Value| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            owners.into_iter().flatten().any(|reference| reference.get("uid").and_then(Value::as_str) == Some(&owner))
        };
        if !owns(&binding.object) {
            return Ok(missing());
        }
        let output =
            output_name.as_ref().and_then(|path| path.find(&binding.object)).and_then(Value::as_str).map(str::to_owned);
        observed.binding = Some(binding);
        match (output, output_name) {
            (_, None) => Ok(Readiness::Ready),
            (_, Some(_)) if work.output == OutputUse::Unused => Ok(Readiness::Ready),
            (None, Some(path)) => Ok(Readiness::NotYet(format!("{path} of {kind} \"{name}\" names no output yet"))),
            (Some(output), Some(_)) => self.look_at_output(work, &output, observed).await,
        }
    }

    /// Looks at the Secret or the ConfigMap of this name.
    async fn look_at_output(&self, work: &Work<'_>, name: &str, observed: &mut Observed) -> Result<Readiness, Trouble> {
        let before = work.before.as_ref().and_then(|before| before.output.as_ref());
        let mut refused = None;
        for kind in [HostKind::core("Secret", "secrets"), HostKind::core("ConfigMap", "configmaps")] {
            match self.look(&kind, name, before).await {
                Ok(Some(found)) => {
                    self.listen(&kind, Interest::Name(name.to_owned()));
                    observed.output = Some(found);
                    return Ok(Readiness::Ready);
                }
                Ok(None) => {}
                Err(trouble) => refused = refused.or(Some(trouble)),
            }
        }
        match refused {
            Some(trouble) => Err(trouble),
            None => {
                Ok(Readiness::NotYet(format!("its output \"{name}\" is neither a Secret nor a ConfigMap that exists")))
            }
        }
    }

    /// An object, read anew unless it is known.
    async fn look(&self, kind: &HostKind, name: &str, before: Option<&Seen>) -> Result<Option<Seen>, Trouble> {
        let is_it = |before: &&Seen| before.name == name && before.kind == *kind && self.is_current(before);
        if let Some(before) = before.filter(is_it) {
            return Ok(Some(before.clone()));
        }
        let found = self.hands.get(kind, name).await?;
        Ok(found.map(|object| Seen { kind: kind.clone(), name: name.to_owned(), object }))
    }
}

// === impl Seen ===

impl Seen {
    /// Whether its values are to be kept from others.
    pub(super) fn is_secret(&self) -> bool {
        is_secret_kind(&self.kind.resource.api_version, &self.kind.resource.kind)
    }
}

fn named(work: &Work<'_>, object: &Value) -> BundleObject {
    BundleObject {
        api_version: work.resource.api_version.clone(),
        kind: work.resource.kind.clone(),
        name: work.name.clone(),
        uid: object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
    }
}

/// Whether everything that is wanted is there. What is more is somebody else's.
fn contains(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| contains(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| contains(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}
