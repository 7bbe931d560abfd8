//! The contenders that others wrote: sample-apiserver, and kube-apiserver with a custom resource of the shape of our entries of catalogs.
//!
//! Both are called directly, on their own ports, by a member of `system:masters`. kube-apiserver gives that group every right
//! without looking further; sample-apiserver knows the client's authority itself and lets the group pass without asking
//! kube-apiserver. So neither is charged for authorization by webhook, nor sample-apiserver for the way through the aggregator.

use std::sync::Arc;

use bailiwick_test_host::{Cluster, Daemon, Etcd, SampleApiserver};

use crate::client::{Credentials, Endpoint};
use crate::error::Error;
use crate::process::Process;
use crate::target::{ENTRY, FLUNDER, Target};

/// Fields as our server has them, so that the peer prunes and validates as much.
const CUSTOM_RESOURCE: &str = include_str!("peers/entry.yaml");

/// The running peers. sample-apiserver ends first: it depends on the cluster.
pub(crate) struct Peers {
    sample: SampleApiserver,
    cluster: Cluster,
}

// === impl Peers ===

impl Peers {
    /// Starts them on an etcd that syncs, as ours does.
    pub(crate) async fn start() -> Result<Self, Error> {
        let cluster = Cluster::options().etcd(Etcd::options().fsync()).start().await?;
        cluster.admin().apply(CUSTOM_RESOURCE).await?;
        let name = format!("customresourcedefinition/{}.{}", ENTRY.plural, ENTRY.group);
        cluster.kubectl(["wait", "--for=condition=Established", &name, "--timeout=60s"]).await?.success()?;
        let sample = cluster.sample_apiserver().await?;
        Ok(Self { sample, cluster })
    }

    /// The URLs of the etcd that all share.
    pub(crate) fn etcd_urls(&self) -> Vec<String> {
        self.cluster.etcd().endpoints()
    }

    /// The process of that etcd.
    pub(crate) fn etcd(&self) -> Result<Process, Error> {
        let pid = self.cluster.etcd().member(0).pid();
        pid.map(Process).ok_or_else(|| Error::Ended("etcd".to_owned()))
    }

    /// The ends of the logs of those that no longer run: what a failed run most likely failed of.
    pub(crate) fn last_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for daemon in [self.sample.daemon(), self.cluster.apiserver()] {
            if !daemon.is_running() {
                words.push(last_words(daemon.name(), &daemon.log_tail()));
            }
        }
        for member in self.cluster.etcd().members() {
            if !member.is_running() {
                words.push(last_words("etcd", &member.log_tail()));
            }
        }
        words
    }

    /// The peers as targets.
    pub(crate) fn targets(&self) -> Result<Vec<Arc<Target>>, Error> {
        let tls = self.cluster.tls();
        let admin = |ca: &str| Credentials {
            ca: ca.to_owned(),
            certificate: tls.admin_certificate.text().to_owned(),
            key: tls.admin_key.text().to_owned(),
        };
        let sample = Target {
            name: "sample-apiserver",
            process: process(self.sample.daemon())?,
            etcd: Some(self.etcd()?),
            endpoint: Endpoint::new(format!("127.0.0.1:{}", self.sample.port()), &admin(self.sample.ca()))?,
            kind: FLUNDER,
        };
        let authority = self.cluster.server().trim_start_matches("https://").to_owned();
        let custom = Target {
            name: "CRD, kube-apiserver",
            process: process(self.cluster.apiserver())?,
            etcd: Some(self.etcd()?),
            endpoint: Endpoint::new(authority, &admin(tls.ca.text()))?,
            kind: ENTRY,
        };
        Ok(vec![Arc::new(sample), Arc::new(custom)])
    }
}

fn last_words(name: &str, log: &str) -> String {
    format!("{name} no longer runs. If its log does not end with a reason, it was killed. It ends with:\n{log}")
}

fn process(daemon: &Daemon) -> Result<Process, Error> {
    daemon.pid().map(Process).ok_or_else(|| Error::Ended(daemon.name().to_owned()))
}
