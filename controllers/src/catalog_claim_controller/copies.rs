//! Makes, changes and removes what a claim is to have, one resource after the other, as the claim's account.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use bailiwick_api::{ClaimError, CopyError, CreatedResource, ResourceCatalogClaim, ServiceAccountRef, copy_for};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value, json};

use super::due::Due;
use super::managers::taken_over;
use super::problem::Problem;
use super::sources::Item;
use crate::host::ActAs;
use crate::host_kinds::HostKinds;

/// Who makes them.
pub(super) struct Copies {
    act_as: Arc<dyn ActAs>,
    kinds: HostKinds,
    /// The UIDs of copies whose fields belong to their claims' applies already.
    applied: Mutex<HashSet<String>>,
}

/// What has become of a claim's resources.
pub(super) struct Realized {
    /// Those that are there, in the order of the entry.
    pub(super) created: Vec<Made>,
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
    /// How it was made last, and in which state it was left.
    pub(super) seen: Option<(ApiResource, String)>,
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
    pub(super) fn new(act_as: Arc<dyn ActAs>, host: Client) -> Self {
        Self { act_as, kinds: HostKinds::new(host), applied: Mutex::default() }
    }

    /// Does what is due. What fails does not keep the rest from being done, and nothing is undone.
    pub(super) async fn realize(
        &self,
        claim: &ResourceCatalogClaim,
        account: &ServiceAccountRef,
        items: &[Item],
        due: Due,
    ) -> Realized {
        let known = claim.status.as_ref().map(|status| status.created_resources.as_slice()).unwrap_or_default();
        let prefix = claim.spec.name_prefix.as_deref().unwrap_or_default();
        let (mut created, mut errors, mut is_whole) = (Vec::new(), Vec::new(), true);
        let mut wanted = Vec::new();
        for item in items {
            let name = format!("{prefix}{}", item.name);
            let found = known.iter().find(|known| is_called(known, &item.api_version, &item.kind, &name));
            match self.one(claim, account, item, found, due).await {
                Ok(made) => created.push(made),
                Err(problem) => {
                    errors.push(problem.about(&item.api_version, &item.kind, &name));
                    is_whole &= found.is_some();
                    created.extend(found.map(Made::known));
                }
            }
            wanted.push((item.api_version.as_str(), item.kind.as_str(), name));
        }
        let is_wanted = |known: &&CreatedResource| {
            wanted.iter().any(|(api_version, kind, name)| is_called(known, api_version, kind, name))
        };
        for left in known.iter().filter(|known| !is_wanted(known)) {
            match self.remove(account, left, due).await {
                Ok(true) => {}
                Ok(false) => created.push(Made::known(left)),
                Err(problem) => {
                    errors.push(problem.about(&left.api_version, &left.kind, &left.name));
                    created.push(Made::known(left));
                }
            }
        }
        Realized { created, errors, is_whole }
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
            None => self.make(&work).await,
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
            None => Err(Problem::new("KindUnknown", format!("there is no kind {kind} of {api_version}"))),
        }
    }

    /// Makes a resource. One of its name that is there already is taken for it only if this claim made it.
    async fn make(&self, work: &Work<'_>) -> Result<Made, Problem> {
        let params = PostParams { field_manager: Some(work.manager.clone()), ..PostParams::default() };
        let object = work.object()?;
        match work.api.create(&params, &object).await {
            Ok(made) => Ok(work.made(&made)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let there = work.api.get_opt(&work.name).await.map_err(|error| work.problem(&error))?;
                match there.filter(|there| work.is_own(there)) {
                    Some(own) => Ok(work.made(&own)),
                    None => Err(work.taken()),
                }
            }
            Err(error) => Err(self.refused(work, &error)),
        }
    }

    /// Makes a resource of the claim as it is to be, and makes it anew if it is gone.
    async fn change(&self, work: &Work<'_>, uid: &str) -> Result<Made, Problem> {
        if !self.applied().contains(uid) {
            let Some(there) = work.api.get_opt(&work.name).await.map_err(|error| work.problem(&error))? else {
                return self.make(work).await;
            };
            if !work.is_own(&there) {
                return Err(work.taken());
            }
            if let Some(managers) = taken_over(&there, &work.manager) {
                let version = there.resource_version();
                let patch = json!({
                    "metadata": { "uid": there.uid(), "resourceVersion": version, "managedFields": managers },
                });
                let params = PatchParams { field_manager: Some(work.manager.clone()), ..PatchParams::default() };
                let patched = work.api.patch(&work.name, &params, &Patch::Merge(patch)).await;
                patched.map_err(|error| work.problem(&error))?;
            }
            let uid = there.uid().unwrap_or_default();
            self.applied().insert(uid.clone());
            return self.apply(work, &uid).await;
        }
        self.apply(work, uid).await
    }

    async fn apply(&self, work: &Work<'_>, uid: &str) -> Result<Made, Problem> {
        let mut body = Value::Object(work.copy.clone());
        body["metadata"]["uid"] = uid.into();
        let params = PatchParams::apply(&work.manager).force();
        match work.api.patch(&work.name, &params, &Patch::Apply(&body)).await {
            Ok(made) => Ok(work.made(&made)),
            // It is gone, or another one.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {
                self.applied().remove(uid);
                self.make(work).await
            }
            Err(error) => Err(self.refused(work, &error)),
        }
    }

    /// Removes what the entry does not have any more, if that is due. Whether it is gone.
    async fn remove(&self, account: &ServiceAccountRef, left: &CreatedResource, due: Due) -> Result<bool, Problem> {
        if due == Due::Missing {
            return Ok(false);
        }
        let resource = self.resource(account, &left.api_version, &left.kind).await?;
        let api: Api<DynamicObject> = Api::namespaced_with(self.act_as.client(account), account.namespace(), &resource);
        let preconditions = Preconditions { uid: Some(left.uid.clone()), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        self.applied().remove(&left.uid);
        match api.delete(&left.name, &params).await {
            Ok(_) => Ok(true),
            // It is gone, or another one.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(true),
            Err(error) => Err(Problem::of(&error, account)),
        }
    }

    fn refused(&self, work: &Work<'_>, error: &kube::Error) -> Problem {
        if matches!(error, kube::Error::Api(status) if status.is_not_found()) {
            self.kinds.forget(&work.resource.api_version, &work.resource.kind);
        }
        work.problem(error)
    }

    fn applied(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
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
            seen: Some((self.resource.clone(), object.resource_version().unwrap_or_default())),
        }
    }

    /// Whether the claim made an object: it says so, and nobody else controls it.
    fn is_own(&self, object: &DynamicObject) -> bool {
        let owners = object.metadata.owner_references.iter().flatten();
        let mut controllers = owners.filter(|owner| owner.controller == Some(true));
        controllers.any(|owner| Some(&owner.uid) == self.claim.metadata.uid.as_ref())
    }

    fn taken(&self) -> Problem {
        let message = format!(
            "there is a {} \"{}\" that this claim did not make: remove or rename it, or claim with another namePrefix",
            self.resource.kind, self.name
        );
        Problem::new("AlreadyExists", message)
    }

    fn problem(&self, error: &kube::Error) -> Problem {
        Problem::of(error, self.account)
    }
}

// === impl Made ===

impl Made {
    fn known(created: &CreatedResource) -> Self {
        let CreatedResource { api_version, kind, name, uid } = created.clone();
        Self { api_version, kind, name, uid, seen: None }
    }
}

/// Whether a resource is this one, whatever the version of its group.
fn is_called(known: &CreatedResource, api_version: &str, kind: &str, name: &str) -> bool {
    let group = |api_version: &str| api_version.rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned());
    known.kind == kind && known.name == name && group(&known.api_version) == group(api_version)
}
