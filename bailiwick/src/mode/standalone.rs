//! A server that is all there is: Kubernetes' own kinds beside ours, roles that it evaluates itself, tokens that it issues.

use std::sync::Arc;

use bailiwick_apiserver::{Health, HostApi};
use bailiwick_registry::kinds::{self, QuotaEnforcement, Reviewers, TokenIssuer, keep_quota_status};
use bailiwick_registry::rbac::{LivePolicy, NoEscalation, Rbac, bootstrap, follow};
use bailiwick_registry::{
    Allocations, AuthorizerChain, BundleRules, CatalogRules, ClaimDefinitionRules, Directory, Exposure, GroupsCount,
    Host, OrganizationRules, ProvisionerMay, Registry, definitions, follow_organizations, follow_projects,
    make_provisioner,
};

use super::{Api, chain};
use crate::acting::OwnHost;
use crate::handler::{HandlerError, Parts};
use crate::service_accounts::ServiceAccounts;

pub(super) async fn api(parts: &Parts, accounts: &ServiceAccounts) -> Result<Api, HandlerError> {
    let own_host = OwnHost::default();
    let host: Arc<dyn Host> = Arc::new(HostApi::new(own_host.clone()));
    let roles = Arc::new(LivePolicy::default());
    let rbac = || Rbac::new(roles.clone());
    let directory = Arc::new(Directory::new(GroupsCount::Yes));
    let provisioner = ProvisionerMay::default();
    let last = AuthorizerChain::new(vec![Box::new(rbac()), Box::new(provisioner.clone())]);
    let authorizer = chain(&parts.always_allow, last, &directory);
    let reviewers = Reviewers {
        authorizer: authorizer.clone(),
        rules: Arc::new(rbac()),
        tokens: parts.authentication.clone(),
        memberships: directory.clone(),
    };
    let issuer: Arc<dyn TokenIssuer> = accounts.tokens.clone();
    let exposure = Arc::new(Exposure::new(authorizer.clone(), directory.clone(), host.clone()));
    let ours = if parts.aliases.unwrap_or(true) { kinds::with_aliases(kinds::all()?)? } else { kinds::all()? };
    let ours = kinds::with_exposure(ours, &exposure);
    let hosted = kinds::with_tokens(kinds::host()?, &issuer)?;
    let kinds = ours.into_iter().chain(hosted).chain(kinds::reviews(&reviewers)?).collect();
    let registry = Registry::start(parts.store.clone(), kinds, parts.metrics.storage.clone()).await?;
    let allocations = Allocations::new(authorizer.clone(), None);
    let guard = NoEscalation { authorizer: authorizer.clone(), roles: roles.clone() };
    let rules =
        OrganizationRules { authorizer: authorizer.clone(), directory: directory.clone(), roles: roles.clone() };
    let bundles = BundleRules { host: host.clone(), authorizer: authorizer.clone(), memberships: directory.clone() };
    let registry = Arc::new(
        registry
            .until(parts.closing.clone())
            .with_admission(kinds::NamespaceLifecycle)
            .with_admission(guard)
            .with_admission(rules)
            .with_admission(bundles)
            .with_admission(CatalogRules { exposure, host: host.clone() })
            .with_admission(ClaimDefinitionRules { authorizer: authorizer.clone(), host })
            .with_admission(QuotaEnforcement::new()?)
            .with_allocations(&allocations)
            .map_err(HandlerError::Furnish)?,
    );
    allocations.open(&registry).map_err(HandlerError::Furnish)?;
    registry.spawn(allocations.keep(registry.clone()));
    accounts.tokens.look_in(&registry);
    provisioner.look_in(&registry);
    definitions::follow(&registry).await.map_err(HandlerError::Furnish)?;
    follow(&registry, &roles).await.map_err(HandlerError::Furnish)?;
    bootstrap(&registry).await.map_err(HandlerError::Furnish)?;
    registry.spawn(keep_quota_status(registry.clone()));
    kinds::make_system_namespaces(&registry).await.map_err(HandlerError::Furnish)?;
    make_provisioner(&registry).await.map_err(HandlerError::Furnish)?;
    registry.spawn(kinds::expire_events(registry.clone(), parts.event_ttl, parts.clock.clone()));
    registry.spawn(kinds::keep_system_namespaces(registry.clone()));
    follow_organizations(&registry, &directory).await.map_err(HandlerError::Furnish)?;
    follow_projects(&registry, &roles).await.map_err(HandlerError::Furnish)?;
    let openid = Arc::new(accounts.documents(&parts.url));
    registry.spawn(accounts.follow_keys(&openid));
    Ok(Api {
        registry,
        authorizer,
        memberships: directory,
        access_webhook: None,
        own_host: Some(own_host),
        health: Health::new(),
        openid: Some(openid),
    })
}
