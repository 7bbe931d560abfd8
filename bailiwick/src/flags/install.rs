//! Installing into a cluster.

use std::path::PathBuf;

use bailiwick_machinery::name::{dns1123_label, dns1123_subdomain};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

/// What to install, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct InstallFlags {
    /// The namespace of everything that has one. It is made, and for nothing else.
    #[arg(long, value_name = "NAME", value_parser = own_namespace, default_value = "bailiwick-system")]
    pub(crate) namespace: String,
    /// The container image.
    #[arg(long, value_name = "IMAGE", value_parser = NonEmptyStringValueParser::new(), default_value = concat!("bailiwick:", env!("CARGO_PKG_VERSION")))]
    pub(crate) image: String,
    /// How many servers to run.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), default_value_t = 2)]
    pub(crate) replicas: u16,
    /// The client URLs of etcd's members, with commas between them [default: https://bailiwick-etcd.NAMESPACE.svc:2379]
    #[arg(long, value_name = "URLS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) etcd_servers: Vec<String>,
    /// The Secret with ca.crt, tls.crt and tls.key for etcd, where its URLs begin with https. It is not made.
    #[arg(long, value_name = "NAME", value_parser = subdomain, default_value = "bailiwick-etcd")]
    pub(crate) etcd_secret: String,
    /// Where Bailiwick may act as the service accounts that claims and bundles name.
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = ActAs::Namespaces)]
    pub(crate) act_as: ActAs,
    /// Also have kube-apiserver hand on the groups by whose names others have known our kinds: smith.atlassian.com and
    /// core.crossplane.io. The cluster is asked whether something else has them; then nothing is printed.
    #[arg(long)]
    pub(crate) alias_groups: bool,
    /// Print --alias-groups without asking a cluster. See yourself that nothing else has them: it would break both.
    #[arg(long, requires = "alias_groups", conflicts_with = "check")]
    pub(crate) unchecked: bool,
    /// Register a server that runs outside of the cluster, at this host name.
    #[arg(long, value_name = "HOST", value_parser = subdomain, requires = "port")]
    pub(crate) external_name: Option<String>,
    /// The port of the server outside.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), requires = "external_name")]
    pub(crate) port: Option<u16>,
    /// The serving certificate, PEM. Without it the servers make and renew their own.
    #[arg(long, value_name = "FILE", requires = "key", requires = "ca", conflicts_with = "external_name")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of the serving certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// The authorities that vouch for the serving certificate, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Print, instead of what is to be applied, what has kube-apiserver ask the servers what organizations give: a file for its
    /// flag --authorization-config. It finds the servers by this kubeconfig.
    #[arg(long, value_name = "KUBECONFIG", num_args = 0..=1, require_equals = true, value_parser = NonEmptyStringValueParser::new(), default_missing_value = "/etc/kubernetes/bailiwick.kubeconfig", conflicts_with = "check")]
    pub(crate) authorization_configuration: Option<String>,
    /// Print nothing to apply, but say what of it is missing in a cluster, and what stands in its way. Fails if anything is.
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// What to remove.
#[derive(Clone, Debug, Args)]
pub(crate) struct UninstallFlags {
    /// Remove it. Without this, what would be removed is only said.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Let go of claims, of the resources that are bound to them and of the classes that they use. All of it stays as it is, and nobody
    /// looks after it any more. Without this, nothing is removed as long as there are claims.
    #[arg(long)]
    pub(crate) release: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Which cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterFlags {
    /// The kubeconfig of the cluster [default: what KUBECONFIG names, or ~/.kube/config]
    #[arg(long = "kubeconfig", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Where the server may act as service accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ActAs {
    /// Where a RoleBinding to the ClusterRole bailiwick:act-as says so.
    Namespaces,
    /// Everywhere.
    Cluster,
}

/// A namespace that can be only ours: it is held to rules that others' pods in it may not keep, and it goes with the installation.
fn own_namespace(text: &str) -> Result<String, String> {
    if text == "default" || text.starts_with("kube-") {
        return Err(
            "it is there for others, whose pods would be held to the rules for ours: give a namespace of its own"
                .to_owned(),
        );
    }
    checked(text, dns1123_label(text))
}

fn subdomain(text: &str) -> Result<String, String> {
    checked(text, dns1123_subdomain(text))
}

fn checked(text: &str, messages: impl IntoIterator<Item = impl ToString>) -> Result<String, String> {
    match messages.into_iter().next() {
        None => Ok(text.to_owned()),
        Some(message) => Err(message.to_string()),
    }
}
