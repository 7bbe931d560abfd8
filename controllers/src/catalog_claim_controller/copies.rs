//! Makes, changes and removes what a claim is to have, one resource after the other, as the claim's account.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_api::{
    ClaimError, CopyError, CreatedResource, ListedResource, ResourceCatalogClaim, ServiceAccountRef, copy_for,
};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};
use serde_json::{Map, Value, json};

use super::due::{self, Due};
use super::problem::Problem;
use super::repairs::{Paths, owned_by};
use super::sources::Item;
use crate::absence::{look_up, unless_absent};
use crate::host::ActAs;
use crate::host_kinds::{HostKinds, Reach};
use crate::managers::taken_over;
use crate::place::{Place, in_path};

/// Who makes them.
pub(super) struct Copies {
    act_as: Arc<dyn ActAs>,
    kinds: Arc<HostKinds>,
    /// By claim, the UIDs of copies whose fields belong to its applies already.
    applied: Mutex<HashMap<Place, HashSet<String>>>,
}

/// What has become of a claim's resources.
pub(super) struct Realized {
    /// Those that are there, in the order of the entry.
    pub(super) created: Vec<Made>,
    /// Those that were to be made, or to be looked for, and of which it is not known that they are there.
    pub(super) pending: Vec<ListedResource>,
    pub(super) errors: Vec<ClaimError>,
    /// Whether each of the entry's resources is there.
    pub(super) is_whole: bool,
}

/// A resource that is there.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// How it was made last, and as what it was left.
    pub(super) seen: Option<Seen>,
}

/// A resource as it was left.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) resource: ApiResource,
    pub(super) version: String,
    /// The fields that the claim has in it.
    pub(super) owned: Paths,
}

/// One claim's resources of one kind.
struct Work<'w> {
    claim: &'w ResourceCatalogClaim,
    account: &'w ServiceAccountRef,
    api: Api<DynamicObject>,
    resource: ApiResource,
    name: String,
    copy: Map<String, Value>,
    manager: String,
}

// === impl Copies ===

impl Copies {
    pub(super) fn new(act_as: Arc<dyn ActAs>, kinds: Arc<HostKinds>) -> Self {
        Self { act_as, kinds, applied: Mutex::default() }
    }

    /// Does what is due. What fails does not keep the rest from being done, and nothing is undone. What is about to be made has
    /// been written down.
    pub(super) async fn realize(
        &self,
        claim: &ResourceCatalogClaim,
        account: &ServiceAccountRef,
        items: &[Item],
        due: Due,
    ) -> Realized {
        let (known, announced) = told(claim);
        let (mut created, mut pending, mut errors, mut is_whole) = (Vec::new(), Vec::new(), Vec::new(), true);
        let mut wanted = Vec::new();
        for item in items {
            let name = name_of(claim, item);
            let found = known.iter().find(|known| is_called(*known, &item.api_version, &item.kind, &name));
            let due = due_for(claim, due, &item.api_version, &item.kind, &name);
            match self.one(claim, account, item, found, due).await {
                Ok(made) => created.push(made),
                Err(problem) => {
                    errors.push(problem.about(&item.api_version, &item.kind, &name));
                    is_whole &= found.is_some();
                    created.extend(found.map(Made::known));
                    let mut announced = announced.iter();
                    let open = announced.find(|one| is_called(*one, &item.api_version, &item.kind, &name));
                    pending.extend(open.filter(|_| found.is_none()).cloned());
                }
            }
            wanted.push(ListedResource { api_version: item.api_version.clone(), kind: item.kind.clone(), name });
        }
        for left in known.iter().filter(|known| !is_among(*known, &wanted)) {
            let due = due_for(claim, due, &left.api_version, &left.kind, &left.name);
            let removed = match due {
                Due::Missing => Ok(false),
                Due::Everything => self.remove(claim, account, left).await.map(|()| true),
            };
            match removed {
                Ok(true) => self.has_gone(claim, &left.uid),
                Ok(false) => created.push(Made::known(left)),
                Err(problem) => {
                    errors.push(problem.about(&left.api_version, &left.kind, &left.name));
                    created.push(Made::known(left));
                }
            }
        }
        // What nobody has told of was made by who has not come to an end, and is of no use to anyone.
        let is_over = |one: &&ListedResource| !is_among(*one, &wanted) && !is_among(*one, known);
        for left in announced.iter().filter(is_over) {
            match self.remove(claim, account, left).await {
                // What an account may not even look at, it has not made.
                Ok(()) => {}
                Err(problem) if problem.reason == "Forbidden" && !problem.is_of_own => {}
                Err(problem) => {
                    errors.push(problem.about(&left.api_version, &left.kind, &left.name));
                    pending.push(left.clone());
                }
            }
        }
        Realized { created, pending, errors, is_whole }
    }

    async fn one(
        &self,
        claim: &ResourceCatalogClaim,
        account: &ServiceAccountRef,
        item: &Item,
        found: Option<&CreatedResource>,
        due: Due,
    ) -> Result<Made, Problem> {
        if let (Some(found), Due::Missing) = (found, due) {
            return Ok(Made::known(found));
        }
        let content = item.content.as_ref().map_err(Clone::clone)?;
        let copy = copy_for(claim, content, &item.source_uid).map_err(|error| match error {
            CopyError::NameTooLong(name) => Problem::new(
                "NameTooLong",
                format!("\"{name}\" has {} characters, of which 253 are possible", name.len()),
            ),
            CopyError::AccountToken => Problem::new("Refused", "it is the credential of a service account"),
        })?;
        let resource = self.resource(account, &item.api_version, &item.kind).await?;
        let work = Work {
            claim,
            account,
            api: Api::namespaced_with(self.act_as.client(account), account.namespace(), &resource),
            resource,
            name: copy["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            copy,
            manager: claim.field_manager(),
        };
        match found {
            Some(found) => self.change(&work, &found.uid).await,
            None => self.make(&work, due).await,
        }
    }

    /// The kind of a resource, if there can be one of it in a namespace.
    async fn resource(
        &self,
        account: &ServiceAccountRef,
        api_version: &str,
        kind: &str,
    ) -> Result<ApiResource, Problem> {
        let found = self.kinds.find(api_version, kind).await.map_err(|error| Problem::of(&error, account))?;
        match found {
            Some(found) if found.is_namespaced => Ok(found.resource),
            Some(_) => Err(Problem::new("Refused", format!("{kind} is a kind of the cluster"))),
            None => Err(Problem::not_served(kind, api_version)),
        }
    }

    /// Makes a resource. One of its name that is there already is taken for it only if this claim made it.
    async fn make(&self, work: &Work<'_>, due: Due) -> Result<Made, Problem> {
        let params = PostParams { field_manager: Some(work.manager.clone()), ..PostParams::default() };
        let object = work.object()?;
        match work.api.create(&params, &object).await {
            Ok(made) => Ok(work.made(&made)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let there = look_up(&work.api, &work.name).await.map_err(|error| self.refused(work, &error))?;
                let own = there.filter(|there| is_own(work.claim, there)).ok_or_else(|| work.taken())?;
                // It may have been made of something that the entry had before.
                match due {
                    Due::Missing => Ok(work.made(&own)),
                    Due::Everything => self.adjust(work, &own).await?.ok_or_else(|| work.contended()),
                }
            }
            Err(error) => Err(self.refused(work, &error)),
        }
    }

    /// Makes a resource of the claim as it is to be, and makes it anew if it is gone.
    async fn change(&self, work: &Work<'_>, uid: &str) -> Result<Made, Problem> {
        let is_known = self.applied().get(&Place::of(work.claim)).is_some_and(|applied| applied.contains(uid));
        let changed = if is_known {
            self.apply(work, uid).await?
        } else {
            match look_up(&work.api, &work.name).await.map_err(|error| self.refused(work, &error))? {
                Some(there) if is_own(work.claim, &there) => self.adjust(work, &there).await?,
                Some(_) => return Err(work.taken()),
                None => None,
            }
        };
        match changed {
            Some(made) => Ok(made),
            None => self.make(work, Due::Everything).await,
        }
    }

    /// Makes what the claim made before as it is to be. `None` if it is gone, or another one.
    async fn adjust(&self, work: &Work<'_>, own: &DynamicObject) -> Result<Option<Made>, Problem> {
        if let Some(managers) = taken_over(own, &work.manager) {
            let patch = json!({
                "metadata": { "uid": own.uid(), "resourceVersion": own.resource_version(), "managedFields": managers },
            });
            let params = PatchParams { field_manager: Some(work.manager.clone()), ..PatchParams::default() };
            let patched = work.api.patch(&in_path(&work.name), &params, &Patch::Merge(patch)).await;
            patched.map_err(|error| work.problem(&error))?;
        }
        let uid = own.uid().unwrap_or_default();
        self.applied().entry(Place::of(work.claim)).or_default().insert(uid.clone());
        self.apply(work, &uid).await
    }

    /// Applies what the resource with this UID is to be. `None` if it is gone, or another one.
    async fn apply(&self, work: &Work<'_>, uid: &str) -> Result<Option<Made>, Problem> {
        let mut body = Value::Object(work.copy.clone());
        body["metadata"]["uid"] = uid.into();
        let params = PatchParams::apply(&work.manager).force();
        let applied = work.api.patch(&in_path(&work.name), &params, &Patch::Apply(&body)).await;
        match unless_absent(applied, &work.api, &work.name) {
            Ok(Some(made)) => return Ok(Some(work.made(&made))),
            Ok(None) => {}
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            Err(error) => return Err(self.refused(work, &error)),
        }
        self.has_gone(work.claim, uid);
        Ok(None)
    }

    /// Removes what the entry does not have any more. What a status says that the claim has made is looked at before, because others
    /// may write there: it goes only if the claim made it.
    async fn remove(
        &self,
        claim: &ResourceCatalogClaim,
        account: &ServiceAccountRef,
        left: &impl Called,
    ) -> Result<(), Problem> {
        let Some((resource, there)) = self.there(account, left).await? else { return Ok(()) };
        if !is_own(claim, &there) {
            return Ok(());
        }
        let api: Api<DynamicObject> = Api::namespaced_with(self.act_as.client(account), account.namespace(), &resource);
        let preconditions = Preconditions { uid: there.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let name = left.called().2;
        match unless_absent(api.delete(&in_path(name), &params).await, &api, name) {
            Ok(_) => Ok(()),
            // It is another one.
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(()),
            Err(error) => Err(Problem::of(&error, account).with_remedy(account, &resource).of_own()),
        }
    }

    /// What is called so, in whichever version its kind is served. What has no kind any more is gone with it.
    async fn there(
        &self,
        account: &ServiceAccountRef,
        called: &impl Called,
    ) -> Result<Option<(ApiResource, DynamicObject)>, Problem> {
        let (api_version, kind, name) = called.called();
        let look = async || {
            let reach = self.kinds.reach(api_version, kind).await;
            let resource = match reach.map_err(|error| Problem::of(&error, account))? {
                Reach::As(found) => found.resource,
                Reach::Out => return Err(Problem::not_served(kind, api_version)),
                Reach::Gone => return Ok(None),
            };
            let client = self.act_as.client(account);
            let api: Api<DynamicObject> = Api::namespaced_with(client, account.namespace(), &resource);
            match look_up(&api, name).await {
                Ok(there) => Ok(there.map(|there| (resource, there))),
                Err(error) => Err(Problem::of(&error, account).with_remedy(account, &resource)),
            }
        };
        match look().await {
            Err(problem) if problem.is_kind_unknown() => {
                // What is remembered of a kind may not be so any more.
                self.kinds.forget(api_version, kind);
                look().await
            }
            found => found,
        }
    }

    fn refused(&self, work: &Work<'_>, error: &kube::Error) -> Problem {
        let problem = work.problem(error);
        if problem.is_kind_unknown() {
            self.kinds.forget(&work.resource.api_version, &work.resource.kind);
        }
        problem
    }

    /// A claim is gone.
    pub(super) fn forget(&self, claim: &Place) {
        self.applied().remove(claim);
    }

    /// A copy is gone, or another one.
    fn has_gone(&self, claim: &ResourceCatalogClaim, uid: &str) {
        if let Some(applied) = self.applied().get_mut(&Place::of(claim)) {
            applied.remove(uid);
        }
    }

    fn applied(&self) -> MutexGuard<'_, HashMap<Place, HashSet<String>>> {
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Work ===

impl Work<'_> {
    fn object(&self) -> Result<DynamicObject, Problem> {
        serde_json::from_value(Value::Object(self.copy.clone()))
            .map_err(|error| Problem::new("Invalid", format!("it is no object: {error}")))
    }

    fn made(&self, object: &DynamicObject) -> Made {
        Made {
            api_version: self.resource.api_version.clone(),
            kind: self.resource.kind.clone(),
            name: self.name.clone(),
            uid: object.uid().unwrap_or_default(),
            seen: Some(Seen {
                resource: self.resource.clone(),
                version: object.resource_version().unwrap_or_default(),
                owned: owned_by(object.managed_fields(), &self.manager),
            }),
        }
    }

    fn taken(&self) -> Problem {
        let message = format!(
            "there is a {} \"{}\" that this claim did not make: remove or rename it, or claim with another namePrefix",
            self.resource.kind, self.name
        );
        Problem::new("AlreadyExists", message)
    }

    fn contended(&self) -> Problem {
        Problem::new(
            "Conflict",
            format!("the {} \"{}\" is being changed by someone else", self.resource.kind, self.name),
        )
    }

    fn problem(&self, error: &kube::Error) -> Problem {
        Problem::of(error, self.account).with_remedy(self.account, &self.resource)
    }
}

// === impl Made ===

impl Made {
    fn known(created: &CreatedResource) -> Self {
        let CreatedResource { api_version, kind, name, uid } = created.clone();
        Self { api_version, kind, name, uid, seen: None }
    }
}

/// Whether a claim made an object: it says so, and nobody else controls it.
pub(super) fn is_own(claim: &ResourceCatalogClaim, object: &DynamicObject) -> bool {
    let owners = object.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.any(|owner| Some(&owner.uid) == claim.metadata.uid.as_ref())
}

/// What is about to be made for a claim and stands nowhere yet: it is to be written down before.
pub(super) fn unannounced(claim: &ResourceCatalogClaim, items: &[Item]) -> Vec<ListedResource> {
    let (known, announced) = told(claim);
    let named = items.iter().filter(|item| item.content.is_ok()).map(|item| ListedResource {
        api_version: item.api_version.clone(),
        kind: item.kind.clone(),
        name: name_of(claim, item),
    });
    named.filter(|one| !is_among(one, known) && !is_among(one, announced)).collect()
}

/// What the status of a claim says that it has made, and that it may have made.
fn told(claim: &ResourceCatalogClaim) -> (&[CreatedResource], &[ListedResource]) {
    let status = claim.status.as_ref();
    status.map(|status| (&*status.created_resources, &*status.pending_resources)).unwrap_or_default()
}

/// What the copy of something is called.
fn name_of(claim: &ResourceCatalogClaim, item: &Item) -> String {
    format!("{}{}", claim.spec.name_prefix.as_deref().unwrap_or_default(), item.name)
}

/// What is due for one resource: what everything was due for, and was not done, still is.
fn due_for(claim: &ResourceCatalogClaim, due: Due, api_version: &str, kind: &str, name: &str) -> Due {
    let is_owed = due::owed(claim).iter().any(|error| is_called(error, api_version, kind, name));
    if is_owed { Due::Everything } else { due }
}

/// Something that says which resource it is about.
pub(super) trait Called {
    /// Its apiVersion, kind and name.
    fn called(&self) -> (&str, &str, &str);
}

impl Called for CreatedResource {
    fn called(&self) -> (&str, &str, &str) {
        (&self.api_version, &self.kind, &self.name)
    }
}

impl Called for ListedResource {
    fn called(&self) -> (&str, &str, &str) {
        (&self.api_version, &self.kind, &self.name)
    }
}

impl Called for ClaimError {
    fn called(&self) -> (&str, &str, &str) {
        (&self.api_version, &self.kind, &self.name)
    }
}

/// Whether a resource is this one, whatever the version of its group.
fn is_called(known: &impl Called, api_version: &str, kind: &str, name: &str) -> bool {
    let group = |api_version: &str| api_version.rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned());
    let called = known.called();
    called.1 == kind && called.2 == name && group(called.0) == group(api_version)
}

/// Whether a resource is one of these.
pub(super) fn is_among(one: &impl Called, others: &[impl Called]) -> bool {
    let (api_version, kind, name) = one.called();
    others.iter().any(|other| is_called(other, api_version, kind, name))
}
