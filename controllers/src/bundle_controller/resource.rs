//! One resource of a Bundle: makes its object what it should be, and says whether it is ready.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bailiwick_api::bundle::{OBJECT_NAME_FORM, PlannedResource, is_secret_kind};
use bailiwick_api::{Bundle, BundleObject, Phase, is_object_name};
use k8s_openapi::Resource as _;
use kube::ResourceExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Shared;
use super::hands::{Force, Hands, Trouble};
use super::observed::{Observed, Seen, controller, is_going};
use super::outcome::{Deed, NOT_SERVED, Outcome, Retry, VANISHED};
use super::readiness::{Readiness, readiness};
use super::type_rules::{Binding, Wanted};
use super::update_loop::{Fingerprint, Written};
use super::watches::{Interest, Interests, News, WatchKey};
use crate::host_kinds::HostKind;
use crate::place::Place;

/// How many objects that an object owns are looked at to find the one that stands for it.
const MAX_BINDINGS: usize = 16;

/// What is the same for all resources of a Bundle.
pub(super) struct Site<'s> {
    pub(super) shared: &'s Shared,
    pub(super) bundle: &'s Bundle,
    pub(super) place: &'s Place,
    /// The id by which others know what is part of the Bundle.
    pub(super) apply_set: String,
    pub(super) hands: Hands,
    pub(super) news: News,
    /// What the Bundle wants to hear of.
    pub(super) interests: Mutex<Interests>,
}

/// A resource whose object is known.
pub(super) struct Work<'w> {
    pub(super) resource: &'w PlannedResource,
    /// What the object should be.
    pub(super) wanted: Value,
    pub(super) name: String,
    /// What was seen last.
    pub(super) before: Option<Observed>,
    pub(super) written: Written,
    /// Whether others of the Bundle use what it puts out.
    pub(super) output: OutputUse,
    /// The object that the inventory tells of, if it says which one that is.
    pub(super) known: Option<BundleObject>,
}

/// Whether what a resource puts out is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputUse {
    Unused,
    /// Only what names it is.
    BindingUsed,
    Used,
}

// === impl Site ===

impl Site<'_> {
    /// Wants to hear of something.
    pub(super) fn listen(&self, kind: &HostKind, interest: Interest) {
        self.shared.watches.add(self.place, &self.hands, kind, interest.clone());
        self.interests().insert((WatchKey::of(&self.hands, kind), interest));
    }

    /// Does not want to hear of something any more.
    fn ignore(&self, kind: &HostKind, interest: Interest) {
        self.interests().remove(&(WatchKey::of(&self.hands, kind), interest));
    }

    pub(super) fn interests(&self) -> MutexGuard<'_, Interests> {
        self.interests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn uid(&self) -> &str {
        self.bundle.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether something seen is still so.
    fn is_current(&self, seen: &Seen) -> bool {
        self.shared.watches.is_live(&self.hands, &seen.kind) && !seen.is_outdated(&self.news)
    }

    /// Makes an object what it should be. Gives back what was written.
    pub(super) async fn make(&self, mut work: Work<'_>) -> (Outcome, Written) {
        let outcome = self.try_make(&mut work).await;
        self.forget_if_not_served(&outcome, &work.resource.api_version, &work.resource.kind);
        let named = BundleObject {
            api_version: work.resource.api_version.clone(),
            kind: work.resource.kind.clone(),
            name: work.name,
            uid: String::new(),
        };
        let outcome = outcome.unwrap_or_else(Outcome::of_trouble);
        let object = outcome.object.clone().or(Some(named));
        (Outcome { object, ..outcome }, work.written)
    }

    async fn try_make(&self, work: &mut Work<'_>) -> Result<Outcome, Trouble> {
        let PlannedResource { api_version, kind, .. } = work.resource;
        let Some(kind) = self.find_kind(api_version, kind).await? else {
            let message = format!("the host serves no kind {kind} in {api_version}; the object is made when it does");
            return Ok(Outcome::blocked(NOT_SERVED, message).retried(Retry::Later));
        };
        if !kind.is_namespaced {
            return Ok(Outcome::error(
                "ClusterScoped",
                format!("{} is a kind of the cluster as a whole", work.resource.kind),
            ));
        }
        self.listen(&kind, Interest::Name(work.name.clone()));
        let was_applied = work.written.applied == Some(Fingerprint::of(&work.wanted));
        work.before.take_if(|_| !was_applied);
        let (seen, deed) = match &work.before {
            Some(before) if self.is_current(&before.object) => (before.object.clone(), Deed::Nothing),
            Some(_) | None => match self.apply(work, &kind, was_applied).await? {
                Ok(applied) => applied,
                Err(outcome) => return Ok(outcome),
            },
        };
        // What was made is known from now on, even if it could not be seen whether it is ready.
        let object = named(work, &seen.object);
        let judged = self.judge(work, seen).await;
        let outcome = judged.unwrap_or_else(|trouble| Outcome::of_trouble(trouble).with(Some(object), None));
        Ok(Outcome { deed, ..outcome })
    }

    /// What is remembered of a kind is asked for anew, the next time, if it turned out not to be so any more.
    fn forget_if_not_served<T>(&self, done: &Result<T, Trouble>, api_version: &str, kind: &str) {
        if let Err(Trouble::NotServed(_)) = done {
            self.shared.kinds.forget(api_version, kind);
        }
    }

    async fn find_kind(&self, api_version: &str, kind: &str) -> Result<Option<HostKind>, Trouble> {
        self.shared.kinds.find(api_version, kind).await.map_err(|error| Trouble::Again(error.to_string()))
    }

    /// Makes the object what it should be, if there is none or it is the Bundle's. Otherwise it says why not.
    async fn apply(
        &self,
        work: &mut Work<'_>,
        kind: &HostKind,
        was_applied: bool,
    ) -> Result<Result<(Seen, Deed), Outcome>, Trouble> {
        let seen = |object: Value| Seen { kind: kind.clone(), name: work.name.clone(), object };
        let mut found = self.hands.find(kind, &work.name).await?;
        if found.is_none() {
            if let Some(known) = work.known.take() {
                let now = Instant::now();
                if was_applied && let Some(told) = work.written.corrections.are_too_many(now) {
                    let outcome = Outcome::error("UpdateLoop", told).with(Some(known), None);
                    return Ok(Err(outcome.retried(Retry::Later)));
                }
                if was_applied {
                    work.written.corrections.note(now, ["somebody deletes it".to_owned()]);
                }
                let message = format!("{} \"{}\" is gone, and is made anew", work.resource.kind, work.name);
                return Ok(Err(Outcome::new(Phase::InProgress, VANISHED, message).with(Some(known), None)));
            }
            if let Some(made) = work.writing(self.hands.create(kind, &self.owned(&work.wanted)).await)? {
                work.written.applied = Some(Fingerprint::of(&work.wanted));
                return Ok(Ok((seen(made), Deed::Created)));
            }
            // Somebody was faster. Whose it is decides.
            found = self.hands.find(kind, &work.name).await?;
        }
        let Some(found) = found else {
            return Err(Trouble::Again(format!("{} \"{}\" comes and goes", work.resource.kind, work.name)));
        };
        if let Some(refusal) = self.not_ours(&found.object, work) {
            return Ok(Err(refusal));
        }
        if is_going(&found.object) {
            let message =
                format!("{} \"{}\" is being deleted, and is made anew when it is gone", work.resource.kind, work.name);
            let outcome = Outcome::new(Phase::InProgress, "Terminating", message);
            return Ok(Err(outcome.with(Some(named(work, &found.object)), None)));
        }
        if was_applied && contains(&found.object, &work.wanted) {
            return Ok(Ok((seen(found.object), Deed::Nothing)));
        }
        if was_applied && let Some(told) = work.written.corrections.are_too_many(Instant::now()) {
            let object = Some(named(work, &found.object));
            return Ok(Err(Outcome::error("UpdateLoop", told).with(object, None).retried(Retry::Later)));
        }
        let found = work.writing(self.hands.take_over(kind, &work.name, found).await)?;
        let mut wanted = self.owned(&work.wanted);
        if let Some(uid) = found.pointer("/metadata/uid") {
            wanted["metadata"]["uid"] = uid.clone();
        }
        let mut others = Vec::new();
        let applied = match self.hands.apply(kind, &work.name, &wanted, Force::No).await {
            Err(Trouble::Conflict(who)) => {
                others = who;
                work.writing(self.hands.apply(kind, &work.name, &wanted, Force::Yes).await)?
            }
            applied => work.writing(applied)?,
        };
        let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
        let deed = if version(&found) == version(&applied) { Deed::Nothing } else { Deed::Updated };
        work.written.applied = Some(Fingerprint::of(&work.wanted));
        if was_applied && deed == Deed::Updated {
            work.written.corrections.note(Instant::now(), others);
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
            // That it keeps its owner from going is not said: the Bundle waits for it anyway, and some hosts let only those say so
            // who may change finalizers of Bundles, which no account needs otherwise.
            let owner = json!([{
                "apiVersion": Bundle::API_VERSION, "kind": Bundle::KIND, "name": self.bundle.name_any(), "uid": self.uid(),
                "controller": true,
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
        let exists = rules
            .exists
            .as_ref()
            .filter(|binding| binding.wanted == Wanted::Always || work.output != OutputUse::Unused);
        let judged = readiness(&seen.object, &rules);
        let mut observed = Observed { object: seen, binding: None, output: None };
        let (judged, retry) = match (judged, exists) {
            (Readiness::Ready, Some(binding)) => match self.find_kind(&binding.api_version, &binding.kind).await? {
                Some(kind) => {
                    let looked = self.look_beside(work, binding, &kind, &mut observed).await;
                    self.forget_if_not_served(&looked, &binding.api_version, &binding.kind);
                    (looked?, Retry::OnChange)
                }
                // Nobody tells of kinds that no resource of the Bundle has.
                None => {
                    let why =
                        format!("it is ready when a {} exists, a kind that the host does not serve", binding.kind);
                    (Readiness::NotYet(why), Retry::Later)
                }
            },
            (judged, _) => (judged, Retry::OnChange),
        };
        Ok(match judged {
            Readiness::Ready => Outcome::new(Phase::Ready, "Ready", ""),
            Readiness::NotYet(why) => Outcome::new(Phase::InProgress, "NotReady", why),
            Readiness::Failed(why) => Outcome::error("Failed", why),
        }
        .with(object, Some(observed))
        .retried(retry))
    }

    /// Whether what must exist beside an object does: what it owns, and what that names.
    async fn look_beside(
        &self,
        work: &Work<'_>,
        Binding { kind, output_name, .. }: &Binding,
        binding_kind: &HostKind,
        observed: &mut Observed,
    ) -> Result<Readiness, Trouble> {
        let owner = observed.object.uid().to_owned();
        self.listen(binding_kind, Interest::OwnedBy(owner.clone()));
        let mut names = match self.shared.watches.owned_by(&self.hands, binding_kind, &owner) {
            Some(names) => names,
            None => self.hands.owned_by(binding_kind, &owner).await?,
        };
        names.sort();
        let before = work.before.as_ref().and_then(|before| before.binding.as_ref());
        let mut found = Vec::new();
        for name in names.iter().take(MAX_BINDINGS) {
            found.extend(self.look(binding_kind, name, before).await?.filter(|seen| is_owned(&seen.object, &owner)));
        }
        let binding = match the_one(found, &owner, work.output) {
            Ok(Some(binding)) => binding,
            Ok(None) => return Ok(Readiness::NotYet(format!("no {kind} exists that it owns"))),
            Err(several) => {
                let why = format!(
                    "it owns several objects of kind {kind}, and which one counts cannot be told, as it does not control \
                     exactly one of them: {}",
                    several.join(", ")
                );
                return Ok(Readiness::NotYet(why));
            }
        };
        let name = binding.name.clone();
        let output = output_name.as_ref().and_then(|path| path.find(&binding.object)).and_then(Value::as_str);
        let output = output.filter(|name| !name.is_empty()).map(str::to_owned);
        observed.binding = Some(binding);
        match (output, output_name) {
            (_, None) => Ok(Readiness::Ready),
            (_, Some(_)) if work.output != OutputUse::Used => Ok(Readiness::Ready),
            (None, Some(path)) => Ok(Readiness::NotYet(format!("{path} of {kind} \"{name}\" names no output yet"))),
            (Some(output), Some(_)) => self.look_at_output(work, &output, observed).await,
        }
    }

    /// Looks at the Secret or the ConfigMap of this name. One that somebody else controls is not this resource's to put out.
    async fn look_at_output(&self, work: &Work<'_>, name: &str, observed: &mut Observed) -> Result<Readiness, Trouble> {
        if !is_object_name(name) {
            return Ok(Readiness::Failed(format!("the name of its output is none: it {OBJECT_NAME_FORM}")));
        }
        let before = work.before.as_ref().and_then(|before| before.output.as_ref());
        let Some(output) = self.find_output(name, before).await? else {
            let why = format!("its output \"{name}\" is neither a Secret nor a ConfigMap that exists");
            return Ok(Readiness::NotYet(why));
        };
        let binding = observed.binding.as_ref().map(Seen::uid).unwrap_or_default();
        if let Some(who) = stranger(&output.object, &[observed.object.uid(), binding, self.uid()]) {
            let kind = &output.kind.resource.kind;
            return Ok(Readiness::Failed(format!(
                "its output, the {kind} \"{name}\", is controlled by {who}; it is not used"
            )));
        }
        observed.output = Some(output);
        Ok(Readiness::Ready)
    }

    /// The Secret of this name, or else the ConfigMap. Whatever happens to it after it was read is told.
    async fn find_output(&self, name: &str, before: Option<&Seen>) -> Result<Option<Seen>, Trouble> {
        let kinds = [HostKind::core("Secret", "secrets"), HostKind::core("ConfigMap", "configmaps")];
        let interest = || Interest::Name(name.to_owned());
        let mut refused = None;
        for kind in &kinds {
            self.listen(kind, interest());
            match self.look(kind, name, before).await {
                Ok(Some(found)) => {
                    // What is there is all that matters. The account may be allowed to follow nothing else.
                    kinds.iter().filter(|other| *other != kind).for_each(|other| self.ignore(other, interest()));
                    return Ok(Some(found));
                }
                Ok(None) => {}
                Err(trouble) => refused = refused.or(Some(trouble)),
            }
        }
        refused.map_or(Ok(None), Err)
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

// === impl Work ===

impl Work<'_> {
    /// What came of a write, which is not told in the words of others if a value of a Secret may be in the object.
    fn writing<T>(&self, written: Result<T, Trouble>) -> Result<T, Trouble> {
        let has_secrets = self.resource.allow_secret_values || self.resource.kind == "Secret";
        written.map_err(|trouble| if has_secrets { trouble.unquoted(&self.resource.kind) } else { trouble })
    }
}

// === impl Seen ===

impl Seen {
    /// Whether its values are to be kept from others.
    pub(super) fn is_secret(&self) -> bool {
        is_secret_kind(&self.kind.resource.api_version, &self.kind.resource.kind)
    }
}

/// Whether an object names this one as an owner.
fn is_owned(object: &Value, owner: &str) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|reference| reference.get("uid").and_then(Value::as_str) == Some(owner))
}

/// Which of these, all of which an object owns, stands for it: the one that it controls. If something is taken from it, and it
/// cannot be told which one that is, it is none of them; otherwise any does, and the first is as good as the others.
fn the_one(found: Vec<Seen>, owner: &str, output: OutputUse) -> Result<Option<Seen>, Vec<String>> {
    let is_controlled = |seen: &Seen| controller(&seen.object).is_some_and(|(uid, _)| uid == owner);
    let (controlled, others): (Vec<Seen>, Vec<Seen>) = found.into_iter().partition(is_controlled);
    let found = if controlled.is_empty() { others } else { controlled };
    if found.len() > 1 && output != OutputUse::Unused {
        return Err(found.into_iter().map(|seen| seen.name).collect());
    }
    Ok(found.into_iter().next())
}

/// Who controls an object, if that is none of these. What nobody controls is anybody's.
fn stranger(object: &Value, known: &[&str]) -> Option<String> {
    controller(object).filter(|(uid, _)| !known.contains(uid)).map(|(_, who)| who)
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

#[cfg(test)]
mod tests;
