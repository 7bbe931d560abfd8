//! Connection secrets: what a resource's Secret holds is handed on to a Secret of the claim's, for as long as both are bound.
//!
//! A Secret is a resource's only if it says so: its controller is the resource, by UID. So nobody gets at a Secret of others
//! by naming it in a resource. Both are followed: what others change or remove of the claim's is there again at once.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};

use super::claim::Claim;
use super::claim_status::{Obstacle, SecretRef};
use super::objects::text;
use super::{FIELD_MANAGER, WorkError};
use crate::place::Place;

// === impl Claim ===

impl Claim<'_> {
    /// Hands on what the Secrets of the claim's resources hold: of each resource the UID, and where its Secret is.
    pub(super) async fn hand_on_secrets(
        &mut self,
        secrets: &[(String, (String, String))],
    ) -> Result<Option<Obstacle>, WorkError> {
        if secrets.is_empty() {
            return Ok(None);
        }
        let own = Place { namespace: self.key.place.namespace.clone(), name: self.secret_name() };
        let sources =
            secrets.iter().map(|(_, (namespace, name))| Place { namespace: namespace.clone(), name: name.clone() });
        let places: Vec<Place> = sources.chain([own]).collect();
        for place in &places {
            self.shared.follow_secrets_in(&place.namespace);
        }
        let mut versions = self.shared.index().secrets.follow(self.key, &places);
        if self.status.binding.is_some() && self.shared.index().secrets.has_handed_on(self.key, &versions) {
            return Ok(None);
        }
        let mut data = BTreeMap::new();
        for ((uid, _), place) in secrets.iter().zip(&places) {
            let api: Api<Secret> = Api::namespaced(self.shared.deputy.clone(), &place.namespace);
            let found = match api.get_opt(&place.name).await {
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    return Ok(Some(Obstacle::new("Synced", "Forbidden", status.message.clone())));
                }
                found => found?,
            };
            let is_its = |secret: &Secret| controller_of(&secret.metadata).is_some_and(|owner| owner.uid == *uid);
            for (key, value) in found.filter(is_its).and_then(|secret| secret.data).unwrap_or_default() {
                // Where several have the same, the first counts.
                data.entry(key).or_insert(value);
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        let written = match self.write_secret(data).await? {
            Err(obstacle) => return Ok(Some(obstacle)),
            Ok(written) => written,
        };
        self.status.binding = Some(SecretRef { name: self.secret_name() });
        if let Some((_, version)) = versions.last_mut() {
            *version = written.resource_version();
        }
        self.shared.index().secrets.note_handed_on(self.key, versions);
        Ok(None)
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
        let wanted = Secret {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                owner_references: Some(vec![self.as_owner()]),
                ..ObjectMeta::default()
            },
            data: Some(data.clone()),
            ..Secret::default()
        };
        let refused = |status: &kube::core::Status| Err(Obstacle::new("Synced", "Forbidden", status.message.clone()));
        match self.secrets().create(&params, &wanted).await {
            Ok(made) => return Ok(Ok(made)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(kube::Error::Api(status)) if status.is_forbidden() => return Ok(refused(&status)),
            Err(error) => return Err(error.into()),
        }
        let Some(mut found) = self.secrets().get_opt(&name).await? else {
            return Err(WorkError::Told("the secret has just gone".to_owned()));
        };
        if controller_of(&found.metadata).is_none_or(|owner| owner.uid != self.uid()) {
            let message = format!("there is a Secret \"{name}\" that is not this claim's: name another, or remove it");
            return Ok(Err(Obstacle::new("Synced", "SecretTaken", message)));
        }
        if found.data.as_ref() == Some(&data) {
            return Ok(Ok(found));
        }
        found.data = Some(data);
        found.metadata.managed_fields = None;
        match self.secrets().replace(&name, &params, &found).await {
            Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(refused(&status)),
            result => Ok(Ok(result?)),
        }
    }

    /// Removes the claim's Secret, and no one else's.
    pub(super) async fn take_back_secret(&self) -> Result<(), WorkError> {
        let Some(SecretRef { name }) = &self.status.binding else { return Ok(()) };
        let Some(found) = self.secrets().get_opt(name).await? else { return Ok(()) };
        if controller_of(&found.metadata).is_none_or(|owner| owner.uid != self.uid()) {
            return Ok(());
        }
        let preconditions = Preconditions { uid: found.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.secrets().delete(name, &params).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
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
