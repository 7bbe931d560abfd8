//! The servers that are measured: ours, and a kube-apiserver on an etcd that syncs.

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_bench::ours::Ours;
use bailiwick_bench::process::Usage;
use bailiwick_test_host::{Cluster, Etcd};

/// A running server; ends with this value.
pub(crate) enum Server {
    Ours(Ours),
    Real(Box<Cluster>),
}

// === impl Server ===

impl Server {
    /// Our program, with its embedded store.
    pub(crate) async fn ours() -> Result<Self, Failure> {
        let mut ours = Ours::beside()?;
        ours.start().await?;
        Ok(Self::Ours(ours))
    }

    /// A real kube-apiserver.
    pub(crate) async fn real() -> Result<Self, Failure> {
        Ok(Self::Real(Box::new(Cluster::options().etcd(Etcd::options().fsync()).start().await?)))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "Bailiwick",
            Self::Real(_) => "kube-apiserver",
        }
    }

    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        match self {
            Self::Ours(ours) => ours.client().await,
            Self::Real(cluster) => Client::open(&std::fs::read_to_string(cluster.kubeconfig())?).await,
        }
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        match self {
            Self::Ours(ours) => ours.usage(),
            Self::Real(cluster) => Usage::of(cluster.apiserver().pid().ok_or("kube-apiserver does not run")?),
        }
    }
}
