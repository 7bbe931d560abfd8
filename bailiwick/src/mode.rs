//! What differs between a server that stands alone and one behind a cluster: who knows tokens, who says what users may do,
//! which kinds there are, and what holds for all of their objects.

mod aggregated;
mod standalone;

use std::path::Path;
use std::sync::Arc;

use bailiwick_apiserver::{
    Health, Metrics, OpenIdDocuments, TokenAuthenticator, TokenAuthenticatorChain, TokenCacheOptions, TokenReviews,
};
use bailiwick_registry::{
    AdministratorsOnly, AllowGroup, AllowPaths, Authorizer, AuthorizerChain, Clock, Directory, Memberships, Registry,
};

use crate::acting::OwnHost;
use crate::cluster::{Cluster, ClusterError};
use crate::flags::{self, NoCluster, ServeFlags};
use crate::handler::{HandlerError, Parts};
use crate::service_accounts::{ServiceAccountError, ServiceAccounts};

/// How a server stands.
pub(crate) enum Mode {
    /// Alone, with tokens of its own.
    Standalone(Box<ServiceAccounts>),
    /// Behind a cluster.
    Aggregated(Box<Aggregated>),
}

/// What is known of the cluster, and what is wanted from it.
pub(crate) struct Aggregated {
    pub(crate) cluster: Cluster,
    flags: flags::ModeFlags,
    /// The namespace of the Service that this is, if one is named.
    service: Option<String>,
    /// Whether the cluster's authorities of clients are believed, and not those of a file.
    client_ca: bool,
    /// Whether the cluster's front proxies are believed, and not those of a file.
    proxies: bool,
    /// For whom tokens must be; the cluster itself if there are none.
    audiences: Vec<String>,
}

/// Who knows tokens.
pub(crate) struct Tokens {
    /// Those that can become void at any moment.
    pub(crate) revocable: Arc<dyn TokenAuthenticator>,
    /// Others, if issuers that were named do not know them.
    pub(crate) others: Vec<Arc<dyn TokenAuthenticator>>,
    /// What this server is called in them.
    pub(crate) audiences: Vec<String>,
    /// Whom those name that are issued here: nobody else may be called so.
    pub(crate) own_issuers: Vec<String>,
    pub(crate) cache: TokenCacheOptions,
}

/// The kinds with their objects, and who may reach them.
pub(crate) struct Api {
    pub(crate) registry: Arc<Registry>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// Who knows of groups that authentication does not find.
    pub(crate) memberships: Arc<dyn Memberships>,
    /// Who says what organizations give, for a cluster that asks.
    pub(crate) access_webhook: Option<Arc<dyn Authorizer>>,
    /// Who must know the server, once it is there, to ask it what a write depends on.
    pub(crate) own_host: Option<OwnHost>,
    /// What the mode adds to it.
    pub(crate) health: Health,
    /// How others verify tokens that are issued here, if any are.
    pub(crate) openid: Option<Arc<OpenIdDocuments>>,
}

/// Why a server cannot stand as it is to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModeError {
    #[error(transparent)]
    NoCluster(#[from] NoCluster),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    ServiceAccounts(#[from] ServiceAccountError),
}

// === impl Mode ===

impl Mode {
    /// As the flags say.
    pub(crate) async fn open(flags: &ServeFlags, pki: &Path, clock: &Arc<dyn Clock>) -> Result<Self, ModeError> {
        match flags.mode.mode()? {
            flags::Mode::Standalone => {
                let accounts = ServiceAccounts::open(&flags.service_account, pki, clock.clone())?;
                Ok(Self::Standalone(Box::new(accounts)))
            }
            flags::Mode::Aggregated => Ok(Self::Aggregated(Box::new(Aggregated {
                cluster: Cluster::reach(&flags.mode).await?,
                flags: flags.mode.clone(),
                service: flags.listen.service.as_ref().map(|service| service.namespace.clone()),
                client_ca: flags.listen.client_ca_file.is_none(),
                proxies: flags.authentication.request_header.requestheader_client_ca_file.is_none(),
                audiences: flags.service_account.api_audiences.clone(),
            }))),
        }
    }

    /// Who knows tokens.
    pub(crate) fn tokens(&self, metrics: &Metrics) -> Tokens {
        match self {
            Self::Standalone(accounts) => Tokens {
                revocable: accounts.tokens.clone(),
                others: Vec::new(),
                audiences: accounts.audiences.clone(),
                own_issuers: accounts.issuers.clone(),
                cache: TokenCacheOptions::default(),
            },
            Self::Aggregated(aggregated) => {
                let client = aggregated.cluster.authentication.clone();
                let reviews =
                    TokenReviews::new(client, aggregated.audiences.clone()).counted_by(metrics.token_reviews.clone());
                Tokens {
                    revocable: Arc::new(TokenAuthenticatorChain::default()),
                    others: vec![Arc::new(reviews)],
                    audiences: aggregated.audiences.clone(),
                    own_issuers: Vec::new(),
                    cache: aggregated::token_cache(&aggregated.flags),
                }
            }
        }
    }

    /// The cluster, if there is one.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        match self {
            Self::Standalone(_) => None,
            Self::Aggregated(aggregated) => Some(&aggregated.cluster),
        }
    }

    /// The kinds with their objects. Everything is in memory when it returns.
    pub(crate) async fn api(&self, parts: &Parts) -> Result<Api, HandlerError> {
        match self {
            Self::Standalone(accounts) => standalone::api(parts, accounts).await,
            Self::Aggregated(aggregated) => aggregated::api(parts, aggregated).await,
        }
    }
}

/// Whoever may do everything, what everyone may ask for, and then this one; and of organizations, only who runs them.
fn chain(always_allow: &AllowPaths, last: impl Authorizer, directory: &Arc<Directory>) -> Arc<dyn Authorizer> {
    let authorizers: Vec<Box<dyn Authorizer>> =
        vec![Box::new(AllowGroup::MASTERS), Box::new(always_allow.clone()), Box::new(last)];
    Arc::new(AdministratorsOnly::new(Arc::new(AuthorizerChain::new(authorizers)), directory.clone()))
}
