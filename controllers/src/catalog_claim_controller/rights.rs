//! Whether whoever wrote a claim may still have what it does. Rights end without anyone being told, so they are asked for.

use std::time::Duration;

use bailiwick_api::{ResourceCatalog, ResourceCatalogClaim, ServiceAccountRef};

use super::WorkError;
use super::due::Obstacle;
use crate::host::Clients;
use crate::rights::{Question, Rights};

/// How long an answer is taken for true.
pub(super) const REMEMBERED: Duration = Duration::from_secs(2);

/// Which right is missing for a claim to be carried out as this account, if any.
pub(super) async fn lost(
    clients: &Clients,
    rights: &Rights,
    claim: &ResourceCatalogClaim,
    account: &ServiceAccountRef,
) -> Result<Option<Obstacle>, WorkError> {
    let obstacle = |message| Some(Obstacle { reason: Obstacle::NOT_ALLOWED, message, is_noticed: false });
    let Some(requester) = claim.status.as_ref().and_then(|status| status.requester.as_ref()) else {
        return Ok(obstacle("it is not known who wrote the claim: write it again".to_owned()));
    };
    let requester = &clients.whole(claim, requester).await?;
    let (namespace, catalog) = (account.namespace(), claim.spec.catalog_name.as_str());
    let claims = Question {
        verb: ResourceCatalog::CLAIM,
        group: "catalog.bailiwick.dev",
        resource: "resourcecatalogs",
        namespace,
        name: catalog,
    };
    let user = &requester.username;
    if !rights.may(requester, claims).await.map_err(unknown)? {
        return Ok(obstacle(format!(
            "user \"{user}\", who wrote the claim, may not claim from \"{catalog}\" any more"
        )));
    }
    let acts =
        Question { verb: "impersonate", group: "", resource: "serviceaccounts", namespace, name: account.name() };
    if !rights.may(requester, acts).await.map_err(unknown)? {
        let name = account.name();
        return Ok(obstacle(format!("user \"{user}\", who wrote the claim, may not act as \"{name}\" any more")));
    }
    Ok(None)
}

fn unknown(error: kube::Error) -> WorkError {
    WorkError::Rights(Box::new(error))
}
