//! Whether whoever wrote a claim may still have what it does. Rights end without anyone being told, so they are asked for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bailiwick_api::{Requester, ResourceCatalog, ResourceCatalogClaim, ServiceAccountRef};
use kube::Client;
use tokio::time::Instant;

use super::due::Obstacle;
use crate::rights::{Question, may};

/// How long an answer is taken for true.
const REMEMBERED: Duration = Duration::from_secs(2);
/// How many answers are remembered at most.
const MAX_REMEMBERED: usize = 10_000;

/// Who is asked.
pub(super) struct Rights {
    host: Client,
    answers: Mutex<HashMap<Vec<String>, (bool, Instant)>>,
}

// === impl Rights ===

impl Rights {
    pub(super) fn new(host: Client) -> Self {
        Self { host, answers: Mutex::default() }
    }

    /// Which right is missing for a claim to be carried out as this account, if any.
    pub(super) async fn lost(
        &self,
        claim: &ResourceCatalogClaim,
        account: &ServiceAccountRef,
    ) -> kube::Result<Option<Obstacle>> {
        let obstacle = |message| Some(Obstacle { reason: "NotAllowed", message, is_noticed: false });
        let Some(requester) = claim.status.as_ref().and_then(|status| status.requester.as_ref()) else {
            return Ok(obstacle("it is not known who wrote the claim: write it again".to_owned()));
        };
        let (namespace, catalog) = (account.namespace(), claim.spec.catalog_name.as_str());
        let claims = Question {
            verb: ResourceCatalog::CLAIM,
            group: "catalog.bailiwick.dev",
            resource: "resourcecatalogs",
            namespace,
            name: catalog,
        };
        let user = &requester.username;
        if !self.may(requester, claims).await? {
            return Ok(obstacle(format!(
                "user \"{user}\", who wrote the claim, may not claim from \"{catalog}\" any more"
            )));
        }
        let acts =
            Question { verb: "impersonate", group: "", resource: "serviceaccounts", namespace, name: account.name() };
        if !self.may(requester, acts).await? {
            let name = account.name();
            return Ok(obstacle(format!("user \"{user}\", who wrote the claim, may not act as \"{name}\" any more")));
        }
        Ok(None)
    }

    async fn may(&self, who: &Requester, question: Question<'_>) -> kube::Result<bool> {
        let Question { verb, group, resource, namespace, name } = question;
        let mut key: Vec<String> = [verb, group, resource, namespace, name].map(str::to_owned).to_vec();
        key.extend([who.username.clone(), who.uid.clone()]);
        key.extend(who.groups.iter().cloned());
        let now = Instant::now();
        if let Some((answer, until)) = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&key)
            && now < *until
        {
            return Ok(*answer);
        }
        let answer = may(&self.host, who, question).await?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_REMEMBERED {
            answers.clear();
        }
        answers.insert(key, (answer, now + REMEMBERED));
        Ok(answer)
    }
}
