//! A server behind a cluster: only our own kinds, and the cluster says who clients are, what they may do, and where there are
//! namespaces for their objects.

use std::sync::Arc;

use bailiwick_apiserver::{
    AccessReviewOptions, AccessReviews, ClusterAuthentication, ClusterNamespaces, ClusterQuotas, ClusterRoles,
    Endpoints, Health, HostApi, TokenCacheOptions, WebhookCallers,
};
use bailiwick_registry::{
    Allocations, AuthorizerChain, BundleRules, CatalogRules, ClaimDefinitionRules, Directory, Exposure, GroupsCount,
    Host, OrganizationRules, ProjectAccess, Registry, RemoteNamespaceLifecycle, follow_bindings, follow_organizations,
    kinds,
};

use super::{Aggregated, Api, chain};
use crate::acting::ClusterHost;
use crate::cluster::MOST_AT_ONCE;
use crate::controllers::elected::{account, home};
use crate::flags::ModeFlags;
use crate::handler::{HandlerError, Parts};

pub(super) async fn api(parts: &Parts, aggregated: &Aggregated) -> Result<Api, HandlerError> {
    let Aggregated { cluster, flags, .. } = aggregated;
    let host: Arc<dyn Host> = Arc::new(HostApi::new(ClusterHost(cluster.own.clone())));
    let directory = Arc::new(Directory::new(GroupsCount::ForOrganizations));
    let reviews = AccessReviews::new(cluster.authorization.clone(), access_reviews(flags));
    let reviews = reviews.counted_by(parts.metrics.access_reviews.clone());
    let callers = WebhookCallers::new(flags.authorization_webhook_callers.clone());
    let asked = AuthorizerChain::new(vec![Box::new(callers), Box::new(reviews)]);
    let authorizer = chain(&parts.always_allow, asked, &directory);
    let exposure = Arc::new(Exposure::new(authorizer.clone(), directory.clone(), host.clone()));
    let ours = if parts.aliases.unwrap_or(false) { kinds::with_aliases(kinds::all()?)? } else { kinds::all()? };
    let kinds = kinds::with_exposure(ours, &exposure);
    let registry = Registry::start(parts.store.clone(), kinds, parts.metrics.storage.clone()).await?;
    let (namespaces, following) = ClusterNamespaces::new(cluster.questions.clone(), cluster.attentive.clone());
    tokio::spawn(following);
    let roles = ClusterRoles::new();
    tokio::spawn(roles.follow(cluster.attentive.clone()));
    let rules =
        OrganizationRules { authorizer: authorizer.clone(), directory: directory.clone(), roles: roles.policy() };
    let bundles = BundleRules { host: host.clone(), authorizer: authorizer.clone(), memberships: directory.clone() };
    let registry = registry
        .until(parts.closing.clone())
        .with_projects(namespaces.clone())
        .with_admission(rules)
        .with_admission(bundles)
        .with_admission(CatalogRules { exposure, host: host.clone() })
        .with_admission(ClaimDefinitionRules { authorizer: authorizer.clone(), host });
    // The cluster's own admission does not see our kinds. Webhooks, policies and quotas of its would be asked after this.
    let registry = registry.with_admission(RemoteNamespaceLifecycle(namespaces.clone()));
    let (own, service) = (cluster.own.clone(), aggregated.service.clone());
    let home = async move { home(&own, service, &account(&own).await) };
    let (quotas, following) = ClusterQuotas::new(cluster.questions.clone(), cluster.attentive.clone(), home);
    tokio::spawn(following);
    let allocations = Allocations::new(authorizer.clone(), Some(Arc::new(quotas.clone())));
    let registry = Arc::new(registry.with_allocations(&allocations).map_err(HandlerError::Furnish)?);
    allocations.open(&registry).map_err(HandlerError::Furnish)?;
    registry.spawn(allocations.keep(registry.clone()));
    follow_organizations(&registry, &directory).await.map_err(HandlerError::Furnish)?;
    let access = Arc::new(ProjectAccess::new(directory.clone(), Arc::new(roles.clone()), Arc::new(namespaces.clone())));
    follow_bindings(&registry, &access).await.map_err(HandlerError::Furnish)?;
    let (learning, own) = (access.clone(), cluster.own.clone());
    tokio::spawn(async move { learning.set_account(account(&own).await) });
    believe(parts, aggregated).await;
    let health = Health::new()
        .with("informer-sync", Endpoints::Ready, namespaces)
        .with("quotas-sync", Endpoints::Ready, quotas)
        .with("roles-sync", Endpoints::Ready, roles);
    Ok(Api {
        registry,
        authorizer,
        memberships: directory,
        access_webhook: Some(access),
        own_host: None,
        health,
        openid: None,
    })
}

/// How the cluster is asked whose tokens are.
pub(super) fn token_cache(flags: &ModeFlags) -> TokenCacheOptions {
    let ttl = flags.authentication_token_webhook_cache_ttl;
    // Whom the cluster believes is followed over the same connection.
    TokenCacheOptions { known_for: ttl, unknown_for: ttl, max_lookups: MOST_AT_ONCE, ..TokenCacheOptions::default() }
}

/// How the cluster is asked what users may do.
fn access_reviews(flags: &ModeFlags) -> AccessReviewOptions {
    AccessReviewOptions {
        allowed_for: flags.authorization_webhook_cache_authorized_ttl,
        refused_for: flags.authorization_webhook_cache_unauthorized_ttl,
        max_questions: MOST_AT_ONCE,
        ..AccessReviewOptions::default()
    }
}

/// Believes whom the cluster believes, from now on.
async fn believe(parts: &Parts, aggregated: &Aggregated) {
    let source = ClusterAuthentication {
        client: aggregated.cluster.authentication.clone(),
        client_ca: aggregated.client_ca,
        proxies: aggregated.proxies,
    };
    if !source.client_ca && !source.proxies {
        return;
    }
    if aggregated.flags.authentication_tolerate_lookup_failure {
        source.look(&parts.authentication).await;
    } else {
        source.wait(&parts.authentication).await;
    }
    tokio::spawn(source.follow(parts.authentication.clone()));
}

#[cfg(test)]
mod tests;
