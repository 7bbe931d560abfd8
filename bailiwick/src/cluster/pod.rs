//! How a pod finds its cluster: two variables say where it is, and a folder that the kubelet keeps fresh says who the pod is, and
//! by what it knows the cluster.

use std::env;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::config::{NamedAuthInfo, NamedCluster, NamedContext};

const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";
/// What the parts of the configuration are called.
const NAME: &str = "pod";

/// Why this is no pod.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PodError {
    #[error("the environment variable {0} is not set")]
    Unset(&'static str),
    #[error("the environment variable {PORT} is \"{0}\", which is no port")]
    Port(String),
    #[error("{} cannot be used: {problem}", folder.display())]
    Folder { folder: PathBuf, problem: Box<KubeconfigError> },
}

/// The cluster of this pod, whose folder this is. Its token is read again every minute, and so is the cluster's authority.
pub(super) async fn config(folder: &Path) -> Result<Config, PodError> {
    let (token, authority) = (folder.join("token"), folder.join("ca.crt"));
    let path = |path: &Path| Some(path.display().to_string());
    let name = || NAME.to_owned();
    let cluster = Cluster { server: Some(url()?), certificate_authority: path(&authority), ..Cluster::default() };
    let user = AuthInfo { token_file: path(&token), ..AuthInfo::default() };
    let context = Context { cluster: name(), user: Some(name()), ..Context::default() };
    let kubeconfig = Kubeconfig {
        clusters: vec![NamedCluster { name: name(), cluster: Some(cluster), ..NamedCluster::default() }],
        auth_infos: vec![NamedAuthInfo { name: name(), auth_info: Some(user), ..NamedAuthInfo::default() }],
        contexts: vec![NamedContext { name: name(), context: Some(context), ..NamedContext::default() }],
        current_context: Some(name()),
        ..Kubeconfig::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let unusable = |problem| PodError::Folder { folder: folder.to_owned(), problem: Box::new(problem) };
    let mut config = config.map_err(unusable)?;
    config.root_cert_file = Some(authority);
    Ok(config)
}

fn url() -> Result<String, PodError> {
    let variable = |name| env::var(name).map_err(|_| PodError::Unset(name));
    let (host, port) = (variable(HOST)?, variable(PORT)?);
    let port: u16 = port.parse().map_err(|_| PodError::Port(port.clone()))?;
    Ok(match host.parse::<IpAddr>() {
        // One of version 6 is in brackets then.
        Ok(address) => format!("https://{}", SocketAddr::new(address, port)),
        Err(_) => format!("https://{host}:{port}"),
    })
}
