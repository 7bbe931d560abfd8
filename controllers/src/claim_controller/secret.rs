//! Connection secrets: what a resource's Secret holds is handed on to a Secret of the claim's, for as long as both are bound.
//!
//! A Secret is a resource's only if it says so: its controller is the resource, by UID. So nobody gets at a Secret of others
//! by naming it in a resource. Both are followed: what others change or remove of the claim's is there again at once.
//!
//! What is gone from the resources' Secrets is gone from the claim's: credentials that nobody answers for do not stay, and a claim
//! that has lost some says so.
//!
//! A claim has one Secret. Each is labelled with the claim's UID, so that one which was made under an earlier name is found and
//! removed, whoever was stopped before that name stood in the status.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::claims::{CLAIM_UID_ANNOTATION, Shown};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};

use super::claim::Claim;
use super::claim_status::{Obstacle, SecretRef};
use super::objects::{is_name, text};
use super::provision::{is_refusal, refused};
use super::{FIELD_MANAGER, WorkError};
use crate::absence::{look_up, unless_absent};
use crate::place::Place;

/// What is said of a claim whose resource has no Secret any more where it says that it has one.
pub(super) const SECRET_GONE: &str = "SecretGone";

/// What the Secrets of resources hold.
#[derive(Default)]
struct Handed {
    data: BTreeMap<String, ByteString>,
    /// Those that are not there, or not the resource's.
    missing: Vec<Place>,
}

// === impl Claim ===

impl Claim<'_> {
    /// Hands on what the Secrets of the claim's resources hold: of each resource the UID, and where its Secret is.
    pub(super) async fn hand_on_secrets(
        &mut self,
        secrets: &[(String, (String, String))],
    ) -> Result<Option<Obstacle>, WorkError> {
        let name = self.secret_name();
        let own = Place { namespace: self.key.place.namespace.clone(), name: name.clone() };
        let sources =
            secrets.iter().map(|(_, (namespace, name))| Place { namespace: namespace.clone(), name: name.clone() });
        let places: Vec<Place> = if secrets.is_empty() { Vec::new() } else { sources.chain([own]).collect() };
        self.shared.follow_secrets(self.key, &places);
        if secrets.is_empty() {
            // No resource says any more how to reach it.
            self.take_back_told().await?;
            return Ok(None);
        }
        let mut versions = self.shared.index().secrets.versions(&places);
        let is_told = self.status.binding.as_ref().is_some_and(|told| told.name == name);
        if is_told && self.shared.index().secrets.has_handed_on(self.key, &versions) {
            self.keep_one_secret(&name).await?;
            return Ok(None);
        }
        let handed = match self.read_secrets(secrets).await? {
            Err(obstacle) => return Ok(Some(obstacle)),
            Ok(handed) => handed,
        };
        let gone = self.gone_secret(&handed);
        let is_whole = handed.missing.is_empty();
        if handed.data.is_empty() {
            self.take_back_told().await?;
            return Ok(gone);
        }
        let written = match self.write_secret(handed.data).await? {
            Err(obstacle) => {
                if let Some(told) = self.status.binding.clone() {
                    self.keep_one_secret(&told.name).await?;
                }
                return Ok(Some(obstacle));
            }
            Ok(written) => written,
        };
        match is_told {
            true => self.keep_one_secret(&name).await?,
            false => self.take_back_secrets(Some(&name)).await?,
        }
        self.status.binding = Some(SecretRef { name });
        if let Some((_, version)) = versions.last_mut() {
            *version = written.resource_version();
        }
        if is_whole {
            self.shared.index().secrets.note_handed_on(self.key, versions);
        }
        Ok(gone)
    }

    /// What these Secrets hold, as far as they are the resources'.
    async fn read_secrets(
        &self,
        secrets: &[(String, (String, String))],
    ) -> Result<Result<Handed, Obstacle>, WorkError> {
        let mut handed = Handed::default();
        for (uid, (namespace, name)) in secrets {
            let api: Api<Secret> = Api::namespaced(self.shared.deputy.clone(), namespace);
            let found = match look_up(&api, name).await {
                Err(kube::Error::Api(status)) if is_refusal(&status) => {
                    return Ok(Err(refused(&status, "the Secret of a resource cannot be read")));
                }
                found => found?,
            };
            let is_its = |secret: &Secret| controller_of(&secret.metadata).is_some_and(|owner| owner.uid == *uid);
            let Some(found) = found.filter(is_its) else {
                handed.missing.push(Place { namespace: namespace.clone(), name: name.clone() });
                continue;
            };
            for (key, value) in found.data.unwrap_or_default() {
                // Where several have the same, the first counts.
                handed.data.entry(key).or_insert(value);
            }
        }
        Ok(Ok(handed))
    }

    /// That the claim had what is missing now. What has never been there is not missed: not every provider writes a Secret.
    fn gone_secret(&self, handed: &Handed) -> Option<Obstacle> {
        // It stays said until it is there again, also by those who have not seen what was there before.
        let is_known =
            self.status.says("Ready", SECRET_GONE) || (self.status.binding.is_some() && handed.data.is_empty());
        if !self.shared.index().secrets.note_missing(self.key, &handed.missing, is_known) {
            return None;
        }
        let message = "a resource that satisfies it has lost the Secret that says how to reach it, and what the claim was told of it \
                       has been removed: it is handed on when the provider writes it again"
            .to_owned();
        Some(Obstacle::new("Ready", SECRET_GONE, message))
    }

    /// Removes what the claim was told, as there is nothing to tell any more; also if whoever told it did not come to say so.
    async fn take_back_told(&mut self) -> Result<(), WorkError> {
        let any = Place { namespace: self.key.place.namespace.clone(), name: String::new() };
        let has_some = self.shared.index().secrets.has_others(self.uid(), &any);
        if has_some || self.status.binding.is_some() {
            self.take_back_secrets(None).await?;
            self.status.binding = None;
        }
        Ok(())
    }

    fn secret_name(&self) -> String {
        match text(&self.object, "/spec/writeConnectionSecretToRef/name") {
            "" => self.key.place.name.clone(),
            name => name.to_owned(),
        }
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.shared.deputy.clone(), &self.key.place.namespace)
    }

    /// The claim's Secret, which holds this now.
    async fn write_secret(&self, data: BTreeMap<String, ByteString>) -> Result<Result<Secret, Obstacle>, WorkError> {
        let name = self.secret_name();
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let label = (CLAIM_UID_ANNOTATION.to_owned(), self.uid().to_owned());
        let wanted = Secret {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(BTreeMap::from([label.clone()])),
                owner_references: Some(vec![self.as_owner()]),
                ..ObjectMeta::default()
            },
            data: Some(data.clone()),
            ..Secret::default()
        };
        let refused = |status: &kube::core::Status| {
            let name = Shown::text(&name);
            Err(refused(status, &format!("the Secret \"{name}\" cannot be written")))
        };
        match self.secrets().create(&params, &wanted).await {
            Ok(made) => return Ok(Ok(made)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(kube::Error::Api(status)) if is_refusal(&status) => return Ok(refused(&status)),
            Err(error) => return Err(error.into()),
        }
        let Some(mut found) = look_up(&self.secrets(), &name).await? else {
            return Err(WorkError::Told("the secret has just gone".to_owned()));
        };
        if controller_of(&found.metadata).is_none_or(|owner| owner.uid != self.uid()) {
            let message = format!("there is a Secret \"{name}\" that is not this claim's: name another, or remove it");
            return Ok(Err(Obstacle::new("Synced", "SecretTaken", message)));
        }
        if found.data.as_ref() == Some(&data) && found.labels().get(&label.0) == Some(&label.1) {
            return Ok(Ok(found));
        }
        found.data = Some(data);
        found.metadata.labels.get_or_insert_default().extend([label]);
        found.metadata.managed_fields = None;
        match self.secrets().replace(&name, &params, &found).await {
            Err(kube::Error::Api(status)) if is_refusal(&status) => Ok(refused(&status)),
            result => Ok(Ok(result?)),
        }
    }

    /// Removes what was seen to be a Secret of the claim's beside the one of this name: it had another name for a moment, and
    /// whoever made that one did not come to say so.
    async fn keep_one_secret(&self, name: &str) -> Result<(), WorkError> {
        let one = Place { namespace: self.key.place.namespace.clone(), name: name.to_owned() };
        let has_others = self.shared.index().secrets.has_others(self.uid(), &one);
        if has_others { self.take_back_secrets(Some(name)).await } else { Ok(()) }
    }

    /// Removes the claim's Secrets, except for one of this name.
    pub(super) async fn take_back_secrets(&self, except: Option<&str>) -> Result<(), WorkError> {
        let made = ListParams::default().labels(&format!("{CLAIM_UID_ANNOTATION}={}", self.uid()));
        let made = match self.secrets().list_metadata(&made).await {
            // Who may not see any has made none.
            Err(kube::Error::Api(status)) if status.is_forbidden() => Vec::new(),
            made => made?.items,
        };
        let told = self.status.binding.iter().map(|told| told.name.clone());
        let names: BTreeSet<String> = made.iter().map(ResourceExt::name_any).chain(told).collect();
        for name in names.iter().filter(|name| Some(name.as_str()) != except) {
            self.take_back_secret(name).await?;
        }
        Ok(())
    }

    /// Removes a Secret if it is the claim's.
    async fn take_back_secret(&self, name: &str) -> Result<(), WorkError> {
        // It may stand in a status, which others can write too.
        if !is_name(name) {
            return Ok(());
        }
        let Some(found) = look_up(&self.secrets(), name).await? else { return Ok(()) };
        if controller_of(&found.metadata).is_none_or(|owner| owner.uid != self.uid()) {
            return Ok(());
        }
        let preconditions = Preconditions { uid: found.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let secrets = self.secrets();
        unless_absent(secrets.delete(name, &params).await, &secrets, name)?;
        Ok(())
    }

    fn as_owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.facts.api_version(),
            kind: self.facts.kind.clone(),
            name: self.key.place.name.clone(),
            uid: self.uid().to_owned(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }
}

fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}
