//! A server behind a cluster: only our own kinds, and the cluster says who clients are, what they may do, and where there are
//! namespaces for their objects.

use std::sync::Arc;

use bailiwick_apiserver::{
    AccessReviewOptions, AccessReviews, ClusterAuthentication, ClusterNamespaces, Endpoints, Health,
};
use bailiwick_registry::{Registry, RemoteNamespaceLifecycle, kinds};

use super::{Aggregated, Api, chain};
use crate::handler::{HandlerError, Parts};

pub(super) async fn api(parts: &Parts, aggregated: &Aggregated) -> Result<Api, HandlerError> {
    let Aggregated { cluster, flags, .. } = aggregated;
    let options = AccessReviewOptions {
        allowed_for: flags.authorization_webhook_cache_authorized_ttl,
        refused_for: flags.authorization_webhook_cache_unauthorized_ttl,
        ..AccessReviewOptions::default()
    };
    let authorizer = chain(&parts.always_allow, AccessReviews::new(cluster.authorization.clone(), options));
    let registry = Registry::start(parts.store.clone(), kinds::all()?, parts.metrics.storage.clone()).await?;
    let (namespaces, following) = ClusterNamespaces::new(cluster.own.clone());
    tokio::spawn(following);
    // The cluster's own admission does not see our kinds. Webhooks, policies and quotas of its would be asked after this.
    let registry = Arc::new(registry.with_admission(RemoteNamespaceLifecycle(namespaces.clone())));
    believe(parts, aggregated).await;
    let health = Health::new().with("informer-sync", Endpoints::Ready, namespaces);
    Ok(Api { registry, authorizer, health, openid: None })
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
