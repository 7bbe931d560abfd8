//! What the status of a definition of claims says of it.

use std::time::SystemTime;

use bailiwick_api::claims::cluster_roles;
use bailiwick_api::{
    ConditionStatus, ResourceClaimDefinition, ResourceClaimDefinitionSpec, ResourceClaimDefinitionStatus,
    ServiceAccountRef,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use serde_json::json;

use super::FIELD_MANAGER;
use crate::conditions::{self, Verdict};
use crate::status::{StatusError, listed};

/// What is to be said of a definition: whether it has its names, and whether claims can be made.
pub(super) struct Told {
    names: Option<(ConditionStatus, String, String)>,
    established: (ConditionStatus, String, String),
}

// === impl Told ===

impl Told {
    /// What the host says of what was made.
    pub(super) fn of(made: &CustomResourceDefinition) -> Self {
        let found = made.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let said = |wanted: &str| {
            let condition = found.clone().find(|condition| condition.type_ == wanted)?;
            let status = match condition.status.as_str() {
                "True" => ConditionStatus::True,
                "False" => ConditionStatus::False,
                _ => ConditionStatus::Unknown,
            };
            let reason = condition.reason.clone().filter(|reason| !reason.is_empty());
            Some((status, reason.unwrap_or_else(|| wanted.to_owned()), condition.message.clone().unwrap_or_default()))
        };
        let waiting = || (ConditionStatus::False, "Installing".to_owned(), "it has just been made".to_owned());
        Self { names: said("NamesAccepted"), established: said("Established").unwrap_or_else(waiting) }
    }

    pub(super) fn name_taken(spec: &ResourceClaimDefinitionSpec) -> Self {
        let name = spec.custom_resource_definition();
        let message = format!("there is a CustomResourceDefinition \"{name}\" that was not made for this definition");
        let said = (ConditionStatus::False, "NameTaken".to_owned(), message);
        Self { names: Some(said.clone()), established: said }
    }

    pub(super) fn ending(message: &str) -> Self {
        Self { names: None, established: (ConditionStatus::False, "Terminating".to_owned(), message.to_owned()) }
    }

    pub(super) fn in_use(claims: &[String]) -> Self {
        let message = format!("it is deleted when there are no claims of it any more; there are {}", claims.join(", "));
        Self { names: None, established: (ConditionStatus::True, "ClaimsExist".to_owned(), message) }
    }

    pub(super) fn unknown(provisioner: &ServiceAccountRef, error: &kube::Error) -> Self {
        let message = format!(
            "it is deleted when there are no claims of it any more, and whether there are cannot be found out as the service \
             account {provisioner}: {error}"
        );
        Self { names: None, established: (ConditionStatus::True, "ClaimsUnknown".to_owned(), message) }
    }
}

/// Says it, unless it is said already.
pub(super) async fn write(
    own: &Client,
    definition: &ResourceClaimDefinition,
    told: &Told,
    now: SystemTime,
) -> Result<(), StatusError> {
    let old = definition.status.clone().unwrap_or_default();
    let mut said = old.conditions.clone();
    let generation = definition.metadata.generation;
    let verdicts = [
        ("NamesAccepted", told.names.as_ref()),
        ("Established", Some(&told.established)),
        ("Ready", Some(&told.established)),
    ];
    for (condition, verdict) in verdicts {
        let Some((status, reason, message)) = verdict else { continue };
        conditions::set(&mut said, Verdict { condition, status: *status, reason, message }, generation, now);
    }
    let new = ResourceClaimDefinitionStatus {
        conditions: said,
        custom_resource_definition: Some(definition.spec.custom_resource_definition()),
        cluster_roles: Some(cluster_roles(&definition.spec)),
        observed_generation: generation,
    };
    if old == new {
        return Ok(());
    }
    let status = json!({
        "conditions": listed(&new.conditions),
        "customResourceDefinition": new.custom_resource_definition,
        "clusterRoles": new.cluster_roles,
        "observedGeneration": new.observed_generation,
    });
    crate::status::write(&Api::<ResourceClaimDefinition>::all(own.clone()), definition, status, FIELD_MANAGER).await
}
