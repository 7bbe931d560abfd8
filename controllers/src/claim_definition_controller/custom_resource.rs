//! The CustomResourceDefinition of a definition of claims: made, kept and removed, and only if it is its own.

use bailiwick_api::claims::custom_resource_definition;
use bailiwick_api::{DEFINITION_UID_ANNOTATION, ResourceClaimDefinition};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{FIELD_MANAGER, Shared, WorkError};
use crate::absence::{is_path_absent, look_up, unless_absent};

/// How many claims are named that keep a definition from going.
const NAMED: u32 = 10;

/// What is there for a definition.
pub(super) enum Found {
    None,
    Ours(Box<CustomResourceDefinition>),
    /// It is about to go.
    Going(Box<CustomResourceDefinition>),
    /// One that was made for something else.
    Others,
}

/// What was made.
pub(super) enum Made {
    Kept(Box<CustomResourceDefinition>),
    /// There is one of this name that was made for something else.
    NameTaken,
}

// === impl Shared ===

impl Shared {
    fn custom_resources(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.clients.host.clone())
    }

    pub(super) async fn find(&self, definition: &ResourceClaimDefinition) -> Result<Found, WorkError> {
        let name = definition.spec.custom_resource_definition();
        Ok(match look_up(&self.custom_resources(), &name).await? {
            None => Found::None,
            Some(found) if !is_of(&found, definition) => Found::Others,
            Some(found) if found.metadata.deletion_timestamp.is_some() => Found::Going(Box::new(found)),
            Some(found) => Found::Ours(Box::new(found)),
        })
    }

    /// Makes it, or brings it to what it is to be. One that is about to go is left alone; it is made again when it is gone.
    pub(super) async fn keep(&self, definition: &ResourceClaimDefinition) -> Result<Made, WorkError> {
        let wanted: CustomResourceDefinition = serde_json::from_value(custom_resource_definition(definition))?;
        let found = match self.find(definition).await? {
            Found::Ours(found) => found,
            Found::Going(found) => return Ok(Made::Kept(found)),
            Found::Others => return Ok(Made::NameTaken),
            Found::None => {
                let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
                return Ok(Made::Kept(Box::new(self.custom_resources().create(&params, &wanted).await?)));
            }
        };
        if is_as_wanted(&found, &wanted) {
            return Ok(Made::Kept(found));
        }
        let name = wanted.name_any();
        let mut patch = json!({
            "metadata": { "uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version },
            "spec": { "names": wanted.spec.names, "versions": wanted.spec.versions },
        });
        // What is not stated any more has to go.
        for (field, names) in
            [("shortNames", &wanted.spec.names.short_names), ("categories", &wanted.spec.names.categories)]
        {
            if names.is_none() {
                patch["spec"]["names"][field] = Value::Null;
            }
        }
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let kept = self.custom_resources().patch(&name, &params, &Patch::Merge(patch)).await?;
        Ok(Made::Kept(Box::new(kept)))
    }

    pub(super) async fn remove(&self, found: &CustomResourceDefinition) -> Result<(), WorkError> {
        let preconditions = Preconditions { uid: found.uid(), resource_version: found.resource_version() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let (api, name) = (self.custom_resources(), found.name_any());
        unless_absent(api.delete(&name, &params).await, &api, &name)?;
        Ok(())
    }

    /// Some of the claims that there are, as the provisioner sees them.
    pub(super) async fn claims_left(
        &self,
        definition: &ResourceClaimDefinition,
        found: &CustomResourceDefinition,
    ) -> kube::Result<Vec<String>> {
        let spec = &definition.spec;
        let served: Vec<&str> =
            found.spec.versions.iter().filter(|version| version.served).map(|version| &*version.name).collect();
        // Someone else may have changed which.
        let is_served = served.is_empty() || served.contains(&&*spec.version);
        let version = if is_served { &spec.version } else { served.first().copied().unwrap_or_default() };
        let kind = ApiResource {
            group: spec.group.clone(),
            version: version.to_owned(),
            api_version: format!("{}/{version}", spec.group),
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
        };
        let client = self.clients.act_as.client(&self.provisioner);
        let claims: Api<DynamicObject> = Api::all_with(client, &kind);
        let list = match claims.list_metadata(&ListParams::default().limit(NAMED)).await {
            // Nothing was ever served under this name: there is nothing that could be a claim.
            Err(kube::Error::Api(status)) if is_path_absent(&status) && !was_served(found) => return Ok(Vec::new()),
            list => list?,
        };
        Ok(list.iter().map(|claim| format!("{}/{}", claim.namespace().unwrap_or_default(), claim.name_any())).collect())
    }
}

/// Whether objects of this kind can have been made: what is stored stays, whether it is served now or not.
fn was_served(found: &CustomResourceDefinition) -> bool {
    let conditions = found.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

fn is_of(found: &CustomResourceDefinition, definition: &ResourceClaimDefinition) -> bool {
    found.annotations().get(DEFINITION_UID_ANNOTATION).is_some_and(|of| Some(of) == definition.metadata.uid.as_ref())
}

/// Whether nothing differs that is stated here; what the host fills in besides is its own.
fn is_as_wanted(found: &CustomResourceDefinition, wanted: &CustomResourceDefinition) -> bool {
    found.spec.versions == wanted.spec.versions && found.spec.names == wanted.spec.names
}
