//! A server that is all there is: Kubernetes' own kinds beside ours, roles that it evaluates itself, tokens that it issues.

use std::sync::Arc;

use bailiwick_apiserver::Health;
use bailiwick_registry::Registry;
use bailiwick_registry::kinds::{self, Reviewers, TokenIssuer};
use bailiwick_registry::rbac::{LivePolicy, NoEscalation, Rbac, bootstrap, follow};

use super::{Api, chain};
use crate::handler::{HandlerError, Parts};
use crate::service_accounts::ServiceAccounts;

pub(super) async fn api(parts: &Parts, accounts: &ServiceAccounts) -> Result<Api, HandlerError> {
    let roles = Arc::new(LivePolicy::default());
    let rbac = || Rbac::new(roles.clone());
    let authorizer = chain(&parts.always_allow, rbac());
    let reviewers =
        Reviewers { authorizer: authorizer.clone(), rules: Arc::new(rbac()), tokens: parts.authentication.clone() };
    let issuer: Arc<dyn TokenIssuer> = accounts.tokens.clone();
    let host = kinds::with_tokens(kinds::host()?, &issuer)?;
    let kinds = kinds::all()?.into_iter().chain(host).chain(kinds::reviews(&reviewers)?).collect();
    let registry = Registry::start(parts.store.clone(), kinds, parts.metrics.storage.clone()).await?;
    let guard = NoEscalation { authorizer: authorizer.clone(), roles: roles.clone() };
    let registry = Arc::new(registry.with_admission(guard));
    accounts.tokens.look_in(registry.clone());
    follow(&registry, &roles).await.map_err(HandlerError::Roles)?;
    bootstrap(&registry).await.map_err(HandlerError::Roles)?;
    Ok(Api { registry, authorizer, health: Health::new(), openid: Some(accounts.documents(&parts.url)) })
}
