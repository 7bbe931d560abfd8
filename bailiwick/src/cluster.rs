//! The cluster that a server stands behind, as its clients reach it.

mod attentive;
mod pod;
mod timely;

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

pub(crate) use self::attentive::MOST_AT_ONCE;

use self::attentive::{AttentiveError, attentive};
use self::pod::PodError;
use self::timely::timely;
use crate::flags::ModeFlags;
use crate::legible::legible;

/// How long it may take to reach the cluster.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The cluster: who asks it what may be someone else each time.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// Where it is.
    pub(crate) url: String,
    /// For what the server needs itself.
    pub(crate) own: Client,
    /// For what it follows and must not lose without noticing.
    pub(crate) attentive: Client,
    /// For what writes wait for: they should not wait for a connection that has fallen silent.
    pub(crate) questions: Client,
    /// Who is asked who clients are.
    pub(crate) authentication: Client,
    /// Who is asked what they may do.
    pub(crate) authorization: Client,
}

/// Why the cluster cannot be reached at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    #[error("the kubeconfig {} cannot be used: {problem}", path.display())]
    Kubeconfig { path: PathBuf, problem: KubeconfigError },
    #[error("this is no pod of a cluster ({0}): give --kubeconfig, or serve with --mode=standalone")]
    NotInCluster(#[from] PodError),
    #[error("no client of the cluster can be made: {0}")]
    Client(#[from] kube::Error),
    #[error("no client of the cluster can be made: {0}")]
    Attentive(#[from] AttentiveError),
}

// === impl Cluster ===

impl Cluster {
    /// As the flags say.
    pub(crate) async fn reach(flags: &ModeFlags) -> Result<Self, ClusterError> {
        let own = config(flags, None).await?;
        let url = own.cluster_url.to_string();
        let authentication = config(flags, flags.authentication_kubeconfig.as_ref()).await?;
        let authorization = config(flags, flags.authorization_kubeconfig.as_ref()).await?;
        Ok(Self {
            url,
            attentive: legible(timely(attentive(own.clone())?)),
            // Over a connection of its own: many at once would keep waiting what is followed.
            questions: legible(timely(attentive(own.clone())?)),
            own: legible(timely(Client::try_from(own)?)),
            // What is to be taken away waits for the answers of both: whom the cluster believes is followed by the first.
            authentication: legible(timely(attentive(authentication)?)),
            authorization: legible(timely(attentive(authorization)?)),
        })
    }
}

/// From the file, or the one for everything, or else as a pod finds its cluster. Nothing else is looked at: neither the files of
/// whoever starts the server, nor variables that would make it act as someone else.
async fn config(flags: &ModeFlags, file: Option<&PathBuf>) -> Result<Config, ClusterError> {
    let mut config = match file.or(flags.kubeconfig.as_ref()) {
        None => pod::config(&flags.service_account_dir).await?,
        Some(path) => {
            let unusable = |problem| ClusterError::Kubeconfig { path: path.clone(), problem };
            let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(unusable)?
        }
    };
    config.connect_timeout = Some(CONNECT_LIMIT);
    // Whoever asks for reviews knows when to ask again, and so do controllers and those who follow something.
    config.default_retry = false;
    Ok(config)
}
