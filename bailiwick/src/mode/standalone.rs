//! A server that is all there is: Kubernetes' own kinds beside ours, roles that it evaluates itself, tokens that it issues.

use std::sync::Arc;

use bailiwick_apiserver::{Health, HostApi};
use bailiwick_registry::kinds::{self, QuotaEnforcement, Reviewers, TokenIssuer, keep_quota_status};
use bailiwick_registry::rbac::{LivePolicy, NoEscalation, Rbac, bootstrap, follow};
use bailiwick_registry::{
    Allocations, CatalogRules, Directory, Exposure, GroupsCount, Host, OrganizationRules, Registry, definitions,
    follow_organizations, follow_projects,
};

use super::{Api, chain};
use crate::acting::OwnHost;
use crate::handler::{HandlerError, Parts};
use crate::service_accounts::ServiceAccounts;

pub(super) async fn api(parts: &Parts, accounts: &ServiceAccounts) -> Result<Api, HandlerError> {
    let own_host = OwnHost::default();
    let host_api: Arc<dyn Host> = Arc::new(HostApi::new(own_host.clone()));
    let roles = Arc::new(LivePolicy::default());
    let rbac = || Rbac::new(roles.clone());
    let directory = Arc::new(Directory::new(GroupsCount::Yes));
    let authorizer = chain(&parts.always_allow, rbac(), &directory);
    let reviewers = Reviewers {
        authorizer: authorizer.clone(),
        rules: Arc::new(rbac()),
        tokens: parts.authentication.clone(),
        memberships: directory.clone(),
    };
    let issuer: Arc<dyn TokenIssuer> = accounts.tokens.clone();
    let host = kinds::with_tokens(kinds::host()?, &issuer)?;
    let exposure = Arc::new(Exposure::new(authorizer.clone(), host_api.clone()));
    let ours = kinds::with_exposure(kinds::all()?, &exposure);
    let kinds = ours.into_iter().chain(host).chain(kinds::reviews(&reviewers)?).collect();
    let registry = Registry::start(parts.store.clone(), kinds, parts.metrics.storage.clone()).await?;
    let allocations = Allocations::new(authorizer.clone(), None);
    let guard = NoEscalation { authorizer: authorizer.clone(), roles: roles.clone() };
    let rules =
        OrganizationRules { authorizer: authorizer.clone(), directory: directory.clone(), roles: roles.clone() };
    let registry = Arc::new(
        registry
            .until(parts.closing.clone())
            .with_admission(kinds::NamespaceLifecycle)
            .with_admission(guard)
            .with_admission(rules)
            .with_admission(CatalogRules { exposure, host: host_api })
            .with_admission(QuotaEnforcement::new()?)
            .with_allocations(&allocations)
            .map_err(HandlerError::Furnish)?,
    );
    allocations.open(&registry).map_err(HandlerError::Furnish)?;
    registry.spawn(allocations.keep(registry.clone()));
    accounts.tokens.look_in(&registry);
    definitions::follow(&registry).await.map_err(HandlerError::Furnish)?;
    follow(&registry, &roles).await.map_err(HandlerError::Furnish)?;
    bootstrap(&registry).await.map_err(HandlerError::Furnish)?;
    registry.spawn(keep_quota_status(registry.clone()));
    kinds::make_system_namespaces(&registry).await.map_err(HandlerError::Furnish)?;
    registry.spawn(kinds::expire_events(registry.clone(), parts.event_ttl, parts.clock.clone()));
    registry.spawn(kinds::keep_system_namespaces(registry.clone()));
    follow_organizations(&registry, &directory).await.map_err(HandlerError::Furnish)?;
    follow_projects(&registry, &roles).await.map_err(HandlerError::Furnish)?;
    let openid = Some(accounts.documents(&parts.url));
    Ok(Api {
        registry,
        authorizer,
        memberships: directory,
        access_webhook: None,
        own_host: Some(own_host),
        health: Health::new(),
        openid,
    })
}
