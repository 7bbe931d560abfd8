//! sample-apiserver, the aggregated API server that Kubernetes gives as its example: something to compare with.

use super::Cluster;
use super::SERVICE_HOST;
use super::Server;
use super::health;
use super::log_path;
use crate::daemon::Daemon;
use crate::error::Error;
use crate::http::Tls;
use crate::pki::Authority;
use crate::pki::Identity;
use crate::pki::Pem;
use crate::tool;

/// A sample-apiserver that keeps its objects in the cluster's etcd and asks its kube-apiserver who may do what. Its kind is the
/// namespaced Flunder. It is not registered; [`Cluster::register_api_service`] does that.
#[derive(Debug)]
pub struct SampleApiserver {
    server: Server,
    ca: String,
}

// === impl SampleApiserver ===

impl SampleApiserver {
    /// The group it serves.
    pub const GROUP: &str = "wardle.example.com";

    /// The version it serves Flunders in.
    pub const VERSION: &str = "v1alpha1";

    /// The loopback port it serves.
    pub fn port(&self) -> u16 {
        self.server.port.number()
    }

    /// The authority of its certificate, PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// Its process.
    pub fn daemon(&self) -> &Daemon {
        &self.server.daemon
    }
}

impl Drop for SampleApiserver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.server.daemon.show_log();
        }
    }
}

impl Cluster {
    /// Starts a sample-apiserver beside the cluster and waits until it serves. It must end before the cluster does.
    pub async fn sample_apiserver(&self) -> Result<SampleApiserver, Error> {
        let program = tool::SAMPLE_APISERVER.path().await?;
        let name = "sample-apiserver";
        let authority = Authority::new(name)?;
        let ca = authority.certificate();
        let Identity { certificate, key } = authority.server(name, &[SERVICE_HOST])?;
        let certificate = Pem::write(&self.folder.path().join("sample.crt"), certificate)?;
        let key = Pem::write(&self.folder.path().join("sample.key"), key)?;
        let tls = Tls::new(&ca, None)?;
        let kubeconfig = self.kubeconfig().display();
        let server = Server::start(|port| {
            let flags = vec![
                format!("--etcd-servers={}", self.etcd.endpoints().join(",")),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={}", port.number()),
                format!("--tls-cert-file={}", certificate.path().display()),
                format!("--tls-private-key-file={}", key.path().display()),
                format!("--kubeconfig={kubeconfig}"),
                format!("--authentication-kubeconfig={kubeconfig}"),
                format!("--authorization-kubeconfig={kubeconfig}"),
                format!("--client-ca-file={}", self.tls.ca.path().display()),
            ];
            Daemon::new(
                name.to_owned(),
                program.clone(),
                flags,
                log_path(&self.folder, name),
                health(port, &tls, "/readyz"),
            )
        })
        .await?;
        Ok(SampleApiserver { server, ca })
    }
}
