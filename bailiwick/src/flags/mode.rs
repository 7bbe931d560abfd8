//! Whether the server stands alone, or behind a cluster that it asks who is who and who may do what.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;

/// How the server stands to a cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModeFlags {
    /// How the server stands: alone, with Kubernetes' own kinds, roles and service accounts; or behind a cluster's
    /// kube-apiserver, which says who clients are and what they may do [default: standalone; aggregated if any kubeconfig is
    /// given]
    #[arg(long, env = "BAILIWICK_MODE", value_name = "MODE", value_enum)]
    mode: Option<Mode>,
    /// Whether kinds are served under the names by which others have known them, too: Bundles in smith.atlassian.com, definitions of
    /// claims in core.crossplane.io [default:
    /// true in standalone, false behind a cluster, where something else may have
    /// those groups]
    #[arg(long, env = "BAILIWICK_ALIAS_GROUPS", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) alias_groups: Option<bool>,
    /// How the cluster is reached that the server stands behind. Without it, as a pod in it: by the service account's token,
    /// which is read again as it changes.
    #[arg(long, env = "BAILIWICK_KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The folder in which a pod finds its service account's token, and the authority of its cluster.
    #[arg(
        long,
        env = "BAILIWICK_SERVICE_ACCOUNT_DIR",
        value_name = "FOLDER",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount"
    )]
    pub(crate) service_account_dir: PathBuf,
    /// How the cluster is asked who clients are: needs create on tokenreviews, and get, list and watch on the ConfigMap
    /// extension-apiserver-authentication in kube-system [default: as --kubeconfig]
    #[arg(long, env = "BAILIWICK_AUTHENTICATION_KUBECONFIG", value_name = "FILE")]
    pub(crate) authentication_kubeconfig: Option<PathBuf>,
    /// How the cluster is asked what clients may do: needs create on subjectaccessreviews [default: as --kubeconfig]
    #[arg(long, env = "BAILIWICK_AUTHORIZATION_KUBECONFIG", value_name = "FILE")]
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// Serve although the cluster does not say whom it believes. Until it does, nobody is known by a certificate or through
    /// its front proxy. Without this flag the server waits.
    #[arg(long, env = "BAILIWICK_AUTHENTICATION_TOLERATE_LOOKUP_FAILURE")]
    pub(crate) authentication_tolerate_lookup_failure: bool,
    /// How long the cluster's word on a token is remembered.
    #[arg(long, env = "BAILIWICK_AUTHENTICATION_TOKEN_WEBHOOK_CACHE_TTL", value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    pub(crate) authentication_token_webhook_cache_ttl: Duration,
    /// How long it is remembered that the cluster allows something.
    #[arg(long, env = "BAILIWICK_AUTHORIZATION_WEBHOOK_CACHE_AUTHORIZED_TTL", value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    pub(crate) authorization_webhook_cache_authorized_ttl: Duration,
    /// How long it is remembered that the cluster does not.
    #[arg(long, env = "BAILIWICK_AUTHORIZATION_WEBHOOK_CACHE_UNAUTHORIZED_TTL", value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    pub(crate) authorization_webhook_cache_unauthorized_ttl: Duration,
    /// The names in the certificates of those who may ask what organizations give, at /authorize: the kube-apiservers whose
    /// AuthorizationConfiguration names this server as a webhook.
    #[arg(
        long,
        env = "BAILIWICK_AUTHORIZATION_WEBHOOK_CALLERS",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "kube-apiserver"
    )]
    pub(crate) authorization_webhook_callers: Vec<String>,
}

/// How the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Alone: it is all there is.
    Standalone,
    /// Behind a cluster's kube-apiserver, which is asked.
    Aggregated,
}

/// Flags that speak of a cluster where there is to be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--mode=standalone asks no cluster: leave the kubeconfig flags out, or say --mode=aggregated")]
pub(crate) struct NoCluster;

// === impl ModeFlags ===

impl ModeFlags {
    /// How the server is to stand.
    pub(crate) fn mode(&self) -> Result<Mode, NoCluster> {
        let kubeconfigs = [&self.kubeconfig, &self.authentication_kubeconfig, &self.authorization_kubeconfig];
        let is_reached = kubeconfigs.iter().any(|file| file.is_some());
        match self.mode {
            Some(Mode::Standalone) if is_reached => Err(NoCluster),
            Some(mode) => Ok(mode),
            None if is_reached => Ok(Mode::Aggregated),
            None => Ok(Mode::Standalone),
        }
    }
}
