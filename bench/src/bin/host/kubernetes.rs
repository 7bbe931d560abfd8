//! kube-apiserver with its etcd and kube-controller-manager.

use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_test_host::{Cluster, Daemon, Etcd};
use tokio::time::sleep;

use crate::{LIMIT, POLL};

/// The peer, running.
pub(crate) struct Kubernetes(Cluster);

// === impl Kubernetes ===

impl Kubernetes {
    /// Starts it on an empty etcd, whose writes are as durable as ours.
    pub(crate) async fn start() -> Result<Self, Failure> {
        Ok(Self(Cluster::options().etcd(Etcd::options().fsync()).controller_manager().start().await?))
    }

    /// Kills kube-apiserver, starts it again beside its etcd, which goes on, and tells how long it took until it was ready.
    pub(crate) async fn restart(&self) -> Result<Duration, Failure> {
        let server = self.0.apiserver();
        // It waits for watches of kube-controller-manager, if it is asked.
        server.kill().await?;
        let began = Instant::now();
        server.start().await?;
        while !self.client().await?.is_ready().await {
            if began.elapsed() > LIMIT {
                return Err("kube-apiserver is not ready".into());
            }
            sleep(POLL).await;
        }
        Ok(began.elapsed())
    }

    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        Client::open(&std::fs::read_to_string(self.0.kubeconfig())?).await
    }

    /// The processes that it takes.
    pub(crate) fn processes(&self) -> Vec<(&'static str, u32)> {
        let etcd = self.0.etcd().member(0).pid();
        let all = [
            ("kube-apiserver", self.0.apiserver().pid()),
            ("kube-controller-manager", self.0.controller_manager().and_then(Daemon::pid)),
            ("etcd", etcd),
        ];
        all.into_iter().filter_map(|(name, id)| Some((name, id?))).collect()
    }
}
